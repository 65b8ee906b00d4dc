/*
 * update.c - optimizers that move more bytes than SGD with momentum, on a CPU.
 *
 * The networks see every optimizer as SGD with momentum, and what they say of
 * the memory traffic of an operator is mostly true for its forward and backward
 * pass: on a CPU, these are often slower than the bandwidth allows, while an
 * update reads and writes its parameters and moments in order.  So what an
 * optimizer moves in addition takes as long as the base says.  On GPUs, where
 * rows have several optimizers, the networks say it.
 */
#include "kinds/mdot/mdot.h"
#include "kinds/opclass/opclass.h"

#include <math.h>

void
pm_mdot_more_update(const pm_mdot *m, const pm_question *q, const pm_tokens *shown, const pm_tokens *work, pm_mdot_update *u)
{
	bool		apart = q->gpu->is_cpu && m->in_turn && m->base.kind != NULL;

	u->factor = apart ? pm_opclass_update_factor(&m->base, q) : 0;
	for (int i = 0; i < work->n; i++)
		u->more_us[i] = apart ? fmax(work->phase_us[3 * i + 2] - shown->phase_us[3 * i + 2], 0) : 0;
}

void
pm_mdot_put_update(const pm_mdot_update *u, pm_input *in)
{
	for (int i = 0; i < in->n; i++)
	{
		in->memory_us[i] -= u->more_us[i];
		in->extra_us[i] = u->factor * u->more_us[i];
	}
}
