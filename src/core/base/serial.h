/*
 * serial.h - stored bytes: a buffer that grows, and a reader that never reads
 * past its end. Numbers are little-endian on every machine.
 *
 * Both remember a failure, and after it do nothing. So a caller checks `failed`
 * once, after a whole row of calls.
 */
#ifndef PM_SERIAL_H
#define PM_SERIAL_H

#include "base/core.h"

typedef struct pm_buffer
{
	pm_arena   *arena;
	uint8_t    *data;
	size_t		len,
				cap;
	bool		failed;			/* out of memory somewhere */
} pm_buffer;

typedef struct pm_reader
{
	const uint8_t *data;
	size_t		len,
				at;
	bool		failed;			/* read past the end, or a value out of its range */
} pm_reader;

void		pm_put_u32(pm_buffer *b, uint32_t v);
void		pm_put_f32(pm_buffer *b, double v);	/* as float32 */
void		pm_put_f64(pm_buffer *b, double v);
void		pm_put_text(pm_buffer *b, const char *s);	/* of at most 4,096 bytes, which is what can be read */
void		pm_put_reals(pm_buffer *b, const pm_real *v, size_t n);	/* as float32 */
/* For many numbers of which few are different: each value once as float32, then which of them v[i] is, in 1, 2 or 4 bytes. */
void		pm_put_repeated(pm_buffer *b, const pm_real *v, size_t n);
uint32_t	pm_get_raw_u32(pm_reader *r);	/* any value */
uint32_t	pm_get_u32(pm_reader *r, uint32_t max);	/* fails when above max */
double		pm_get_f32(pm_reader *r);	/* fails on NaN and infinity */
double		pm_get_f64(pm_reader *r);	/* the same */
double		pm_get_above(pm_reader *r, double least);	/* fails when below that too */
const char *pm_get_text(pm_reader *r, pm_arena *a);	/* NULL when it fails */
void		pm_get_reals(pm_reader *r, pm_real *v, size_t n); /* fails on NaN and infinity */
void		pm_get_repeated(pm_reader *r, pm_real *v, size_t n);	/* as pm_put_repeated() put it; fails as pm_get_reals() */

#endif
