/*
 * wire.c - a scanner over protobuf's wire format.
 *
 * protobuf-c copies every field, known or not, so a model of 500 MB would cost
 * another 500 MB.  This pass goes over the bytes first, guided by the
 * descriptors that protoc-c generates, and writes a message that holds only
 * what onnx.proto lists and what is small.  It is also the guard: after it,
 * every length lies inside its message, every wire type fits its field, and
 * nothing is nested deeper than onnx.proto is.
 *
 * It runs twice, first to count, then to write, so the copy has its exact size.
 */
#include "import/onnx/wire.h"
#include "import/onnx/onnx.pb-c.h"

#include <string.h>

/* What the rest of the importer has to hold; real models without weights have a few MB and some 10,000 messages. */
#define MAX_REDUCED		((size_t) 64 << 20)
#define MAX_MESSAGES	2000000
#define MAX_NAME		4096
#define MAX_LOOSE		(PM_ONNX_KEEP / 4)	/* numbers of one list that come one by one */
#define LENGTH_BYTES	5		/* lengths of messages are patched in afterwards, padded */

enum
{
	WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_GROUP = 3, WIRE_END = 4, WIRE_32 = 5
};

typedef struct scanner
{
	const uint8_t *at;
	const uint8_t *start;
	uint8_t    *out;			/* NULL: count only */
	size_t		n_out;
	int			messages;
	pm_status  *st;
} scanner;

/* One field: its number, wire type and, when it has a length, its contents. */
typedef struct field
{
	const uint8_t *begin;		/* of the key */
	const uint8_t *body;
	const uint8_t *end;
	uint32_t	number;
	int			wire;
} field;

static pm_code
damaged(scanner *s, const char *what)
{
	pm_fail(s->st, PM_ERR_INPUT, "the model is not a valid ONNX file: %s at byte %llu", what,
			(unsigned long long) (s->at - s->start));
	pm_hint(s->st, "Check that the file is complete and was written by an ONNX exporter.");
	return PM_ERR_INPUT;
}

static bool
read_varint(scanner *s, const uint8_t *end, uint64_t *v)
{
	*v = 0;
	for (int shift = 0; shift < 70; shift += 7)
	{
		uint8_t		byte;

		if (s->at >= end)
			return false;
		byte = *s->at++;
		if (shift < 64)
			*v |= (uint64_t) (byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

static pm_code
read_field(scanner *s, const uint8_t *end, field *f)
{
	uint64_t	v;

	f->begin = s->at;
	if (!read_varint(s, end, &v))
		return damaged(s, "a field is cut off");
	f->wire = (int) (v & 7);
	if (v >> 3 == 0 || v >> 3 > 536870911)
		return damaged(s, "a field has an impossible number");
	f->number = (uint32_t) (v >> 3);
	f->body = s->at;
	v = 0;
	if (f->wire == WIRE_VARINT && !read_varint(s, end, &v))
		return damaged(s, "a number is cut off");
	if (f->wire == WIRE_BYTES)
	{
		if (!read_varint(s, end, &v))
			return damaged(s, "a length is cut off");
		f->body = s->at;
	}
	else
		v = f->wire == WIRE_64 ? 8 : f->wire == WIRE_32 ? 4 : 0;
	if (f->wire == WIRE_GROUP || f->wire == WIRE_END || f->wire > WIRE_32)
		return damaged(s, "a field has an unknown type");
	if (v > (uint64_t) (end - s->at))
		return damaged(s, "a field reaches beyond its message");
	s->at += v;
	f->end = s->at;
	return PM_OK;
}

static pm_code
put(scanner *s, const uint8_t *from, size_t n)
{
	if (n > MAX_REDUCED - s->n_out)
		return pm_fail(s->st, PM_ERR_LIMIT, "model is too large: without its weights it has more than %d MB",
					   (int) (MAX_REDUCED >> 20));
	if (s->out != NULL)
		memcpy(s->out + s->n_out, from, n);
	s->n_out += n;
	return PM_OK;
}

static int
wire_of(ProtobufCType type)
{
	switch (type)
	{
		case PROTOBUF_C_TYPE_FLOAT:
		case PROTOBUF_C_TYPE_FIXED32:
		case PROTOBUF_C_TYPE_SFIXED32:
			return WIRE_32;
		case PROTOBUF_C_TYPE_DOUBLE:
		case PROTOBUF_C_TYPE_FIXED64:
		case PROTOBUF_C_TYPE_SFIXED64:
			return WIRE_64;
		case PROTOBUF_C_TYPE_STRING:
		case PROTOBUF_C_TYPE_BYTES:
		case PROTOBUF_C_TYPE_MESSAGE:
			return WIRE_BYTES;
		default:
			return WIRE_VARINT;
	}
}

/* A packed list has whole numbers only. */
static pm_code
check_packed(scanner *s, const field *f, ProtobufCType type)
{
	const uint8_t *after = s->at;
	int			wire = wire_of(type);
	uint64_t	v;

	if (wire == WIRE_32 || wire == WIRE_64)
		return (f->end - f->body) % (wire == WIRE_32 ? 4 : 8) == 0 ? PM_OK : damaged(s, "a list is cut off");
	for (s->at = f->body; s->at < f->end;)
		if (!read_varint(s, f->end, &v))
			return damaged(s, "a list is cut off");
	s->at = after;
	return PM_OK;
}

static pm_code scan(scanner *s, const uint8_t *end, const ProtobufCMessageDescriptor *d);

static pm_code
put_message(scanner *s, const field *f, const ProtobufCMessageDescriptor *d)
{
	size_t		length_at;
	size_t		n;
	pm_code		code;

	if (++s->messages > MAX_MESSAGES)
		return pm_fail(s->st, PM_ERR_LIMIT, "model has more than %d parts", MAX_MESSAGES);
	/* the key, then room for the length */
	code = put(s, f->begin, 1 + (f->number >= 16));
	length_at = s->n_out;
	if (code == PM_OK)
		code = put(s, (const uint8_t *) "\0\0\0\0\0", LENGTH_BYTES);
	s->at = f->body;
	if (code == PM_OK)
		code = scan(s, f->end, d);
	if (code != PM_OK || s->out == NULL)
		return code;
	n = s->n_out - length_at - LENGTH_BYTES;
	for (int i = 0; i < LENGTH_BYTES; i++)
		s->out[length_at + (size_t) i] = (uint8_t) (((n >> (7 * i)) & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
	return PM_OK;
}

/* One field that onnx.proto has. loose: numbers of lists that came one by one in this message. */
static pm_code
put_known(scanner *s, const field *f, const ProtobufCFieldDescriptor *d, size_t *loose)
{
	int			wire = wire_of(d->type);
	size_t		n = (size_t) (f->end - f->body);
	bool		packed = f->wire == WIRE_BYTES && wire != WIRE_BYTES && d->label == PROTOBUF_C_LABEL_REPEATED;

	if (f->wire != wire && !packed)
		return damaged(s, "a field has the type of another one");
	/* keys are written by one rule, see put_message */
	if (f->number < 16 ? f->begin[0] >= 0x80 : f->begin[1] >= 0x80)
		return damaged(s, "a field number is padded");
	if (d->type == PROTOBUF_C_TYPE_MESSAGE)
		return put_message(s, f, d->descriptor);
	if (d->type == PROTOBUF_C_TYPE_STRING && n > MAX_NAME)
		return damaged(s, "a name is longer than 4096 bytes");
	if (n > PM_ONNX_KEEP)
		return PM_OK;
	if (packed)
	{
		pm_code		code = check_packed(s, f, d->type);

		if (code != PM_OK)
			return code;
	}
	else if (d->label == PROTOBUF_C_LABEL_REPEATED && wire != WIRE_BYTES && ++*loose > MAX_LOOSE)
		return PM_OK;
	return put(s, f->begin, (size_t) (f->end - f->begin));
}

static pm_code
scan(scanner *s, const uint8_t *end, const ProtobufCMessageDescriptor *d)
{
	size_t		loose = 0;
	uint64_t	seen = 0;

	while (s->at < end)
	{
		field		f;
		const ProtobufCFieldDescriptor *fd;
		pm_code		code = read_field(s, end, &f);

		if (code != PM_OK)
			return code;
		fd = protobuf_c_message_descriptor_get_field(d, f.number);
		if (fd != NULL && fd->label != PROTOBUF_C_LABEL_REPEATED)
		{
			uint64_t	bit = UINT64_C(1) << (fd - d->fields);

			if (seen & bit)
				return damaged(s, "a field comes twice");
			seen |= bit;
		}
		if (fd != NULL)
			code = put_known(s, &f, fd, &loose);
		if (code != PM_OK)
			return code;
		s->at = f.end;
	}
	return PM_OK;
}

pm_code
pm_onnx_reduce(const uint8_t *bytes, size_t len, pm_arena *a, uint8_t **out, size_t *out_len, pm_status *st)
{
	scanner		s = {.at = bytes, .start = bytes, .st = st};
	pm_code		code = scan(&s, bytes + len, &pm_onnx__model__descriptor);

	if (code != PM_OK)
		return code;
	*out_len = s.n_out;
	*out = PM_NEW(a, uint8_t, s.n_out + 1);
	if (*out == NULL)
		return pm_no_memory(st, a);
	s = (scanner)
	{
		.at = bytes, .start = bytes, .out = *out, .st = st
	};
	return scan(&s, bytes + len, &pm_onnx__model__descriptor);
}
