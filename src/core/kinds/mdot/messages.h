/*
 * messages.h - messages along the edges of the graph: each operator receives
 * the mean of the operators that it reads from, and of those that read from it
 * (option edges).
 */
#ifndef PM_MDOT_MESSAGES_H
#define PM_MDOT_MESSAGES_H

#include "kinds/mdot/acts.h"

/* Take the memory for the messages between the t->ops operators of t->n samples from c. */
void		pm_mdot_messages_take(pm_cursor *c, const pm_mdot_net *net, pm_mdot_acts *t);
/* Add the messages, computed from t->o, to the operators' rows of t->x.  rng: leaves out the messages of some samples (drop_path); NULL: of none. */
void		pm_mdot_messages(const pm_mdot_data *data, const int *index, const pm_real *w, pm_rng *rng, pm_mdot_acts *t);
/* From t->dx, the gradient of t->x: adds to t->d_ops and to grad. */
void		pm_mdot_messages_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t);

#endif
