/* SPDX-License-Identifier: BSD-3-Clause */
/* Open MPI's datatypes and operations, as the files that move data ask about them. */
#include "mpi/datatype.h"

#include "exec/reduce.h"

#include "opal/datatype/opal_convertor.h"

ptrdiff_t mca_coll_gpuring_type_extent(struct ompi_datatype_t *type)
{
    ptrdiff_t extent;

    ompi_datatype_type_extent(type, &extent);
    return extent;
}

int mca_coll_gpuring_convert(void *buf, struct ompi_datatype_t *type, size_t count,
                             unsigned char *packed, bool pack)
{
    opal_convertor_t convertor;
    size_t bytes = count * mca_coll_gpuring_type_size(type), done = 0, max;
    struct iovec iov;
    uint32_t niov;
    int rc;

    if (0 == bytes) {
        return OMPI_SUCCESS;
    }
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    if (pack) {
        rc = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count,
                                                      buf, 0, &convertor);
    } else {
        rc = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count,
                                                      buf, 0, &convertor);
    }
    while (OPAL_SUCCESS == rc && done < bytes) {
        niov = 1;
        iov.iov_base = (IOVBASE_TYPE *) (packed + done);
        iov.iov_len = max = bytes - done;
        if (0 > (pack ? opal_convertor_pack(&convertor, &iov, &niov, &max)
                      : opal_convertor_unpack(&convertor, &iov, &niov, &max)) ||
            0 == max) {
            rc = OMPI_ERROR;
        }
        done += max;
    }
    OBJ_DESTRUCT(&convertor);
    return rc;
}

/* ---- predefined types and operations ---- */

/*
 * MPI's predefined types and operations in the core's terms: two tables of handles. What is not
 * listed goes through Open MPI's own reduction functions.
 */

/* LOGICAL: an integer of its size, of which operations ask only whether it is 0. */
enum kind { SIGNED, UNSIGNED, REAL, COMPLEX, LOGICAL = UNSIGNED };

static const struct {
    struct ompi_predefined_datatype_t *handle;
    enum kind kind;
} types[] = {
    /* the most used first */
    {&ompi_mpi_double, REAL},
    {&ompi_mpi_float, REAL},
    {&ompi_mpi_int, SIGNED},
    {&ompi_mpi_long, SIGNED},
    {&ompi_mpi_char, (char) -1 < (char) 1 ? SIGNED : UNSIGNED},
    {&ompi_mpi_signed_char, SIGNED},
    {&ompi_mpi_unsigned_char, UNSIGNED},
    {&ompi_mpi_byte, UNSIGNED},
    {&ompi_mpi_short, SIGNED},
    {&ompi_mpi_unsigned_short, UNSIGNED},
    {&ompi_mpi_unsigned, UNSIGNED},
    {&ompi_mpi_unsigned_long, UNSIGNED},
    {&ompi_mpi_long_long_int, SIGNED},
    {&ompi_mpi_unsigned_long_long, UNSIGNED},
    {&ompi_mpi_int8_t, SIGNED},
    {&ompi_mpi_uint8_t, UNSIGNED},
    {&ompi_mpi_int16_t, SIGNED},
    {&ompi_mpi_uint16_t, UNSIGNED},
    {&ompi_mpi_int32_t, SIGNED},
    {&ompi_mpi_uint32_t, UNSIGNED},
    {&ompi_mpi_int64_t, SIGNED},
    {&ompi_mpi_uint64_t, UNSIGNED},
    {&ompi_mpi_aint, SIGNED},
    {&ompi_mpi_offset, SIGNED},
    {&ompi_mpi_count, SIGNED},
    {&ompi_mpi_integer, SIGNED},
    {&ompi_mpi_integer1, SIGNED},
    {&ompi_mpi_integer2, SIGNED},
    {&ompi_mpi_integer4, SIGNED},
    {&ompi_mpi_integer8, SIGNED},
    {&ompi_mpi_real, REAL},
    {&ompi_mpi_dblprec, REAL},
    {&ompi_mpi_real4, REAL},
    {&ompi_mpi_real8, REAL},
    {&ompi_mpi_real2, REAL},
#if GR_HAVE_SHORT_FLOAT
    {&ompi_mpi_short_float, REAL},
#endif
    {&ompi_mpi_c_bool, LOGICAL},
    {&ompi_mpi_cxx_bool, LOGICAL},
    {&ompi_mpi_logical, LOGICAL},
    {&ompi_mpi_logical1, LOGICAL},
    {&ompi_mpi_logical2, LOGICAL},
    {&ompi_mpi_logical4, LOGICAL},
    {&ompi_mpi_logical8, LOGICAL},
    {&ompi_mpi_c_float_complex, COMPLEX},
    {&ompi_mpi_c_double_complex, COMPLEX},
    {&ompi_mpi_cxx_cplex, COMPLEX},
    {&ompi_mpi_cxx_dblcplex, COMPLEX},
    {&ompi_mpi_cplex, COMPLEX},
    {&ompi_mpi_dblcplex, COMPLEX},
    {&ompi_mpi_complex8, COMPLEX},
    {&ompi_mpi_complex16, COMPLEX},
};

/* Values with an index. The core's type is what C makes of it: {double; int}. */
static const struct {
    struct ompi_predefined_datatype_t *handle;
    enum gr_type type;
} pairs[] = {
    {&ompi_mpi_float_int, GR_TYPE_F32_I32},
    {&ompi_mpi_double_int, GR_TYPE_F64_I32},
    {&ompi_mpi_long_int, sizeof(long) == sizeof(int64_t) ? GR_TYPE_I64_I32 : GR_TYPE_I32_I32},
    {&ompi_mpi_2int, GR_TYPE_I32_I32},
    {&ompi_mpi_short_int, GR_TYPE_I16_I32},
    {&ompi_mpi_2integer, GR_TYPE_I32_I32},
    {&ompi_mpi_2real, GR_TYPE_F32_F32},
    {&ompi_mpi_2dblprec, GR_TYPE_F64_F64},
};

static const struct {
    struct ompi_predefined_op_t *handle;
    enum gr_redop redop;
} ops[] = {
    {&ompi_mpi_op_sum, GR_OP_SUM},       {&ompi_mpi_op_prod, GR_OP_PROD},
    {&ompi_mpi_op_min, GR_OP_MIN},       {&ompi_mpi_op_max, GR_OP_MAX},
    {&ompi_mpi_op_band, GR_OP_BAND},     {&ompi_mpi_op_bor, GR_OP_BOR},
    {&ompi_mpi_op_bxor, GR_OP_BXOR},     {&ompi_mpi_op_land, GR_OP_LAND},
    {&ompi_mpi_op_lor, GR_OP_LOR},       {&ompi_mpi_op_lxor, GR_OP_LXOR},
    {&ompi_mpi_op_minloc, GR_OP_MINLOC}, {&ompi_mpi_op_maxloc, GR_OP_MAXLOC},
};

/*
 * The core's type of a kind and size; sizes that it does not have (and 0, of types unknown here)
 * are OTHER.
 */
static enum gr_type by_size(enum kind kind, size_t size)
{
    static const enum gr_type first[] = {[SIGNED] = GR_TYPE_I8,
                                         [UNSIGNED] = GR_TYPE_U8,
                                         [REAL] = GR_TYPE_F32,
                                         [COMPLEX] = GR_TYPE_C64};
    static const enum gr_type last[] = {[SIGNED] = GR_TYPE_I64,
                                        [UNSIGNED] = GR_TYPE_U64,
                                        [REAL] = GR_TYPE_F16,
                                        [COMPLEX] = GR_TYPE_C128};
    int t;

    for (t = (int) first[kind]; t <= (int) last[kind]; t++) {
        if (gr_type_bytes((enum gr_type) t) == size) {
            return (enum gr_type) t;
        }
    }
    return GR_TYPE_OTHER;
}

enum gr_type mca_coll_gpuring_type(struct ompi_datatype_t *type)
{
    size_t k;

    for (k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
        if (type == &types[k].handle->dt) {
            return by_size(types[k].kind, type->super.size);
        }
    }
    for (k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
        if (type == &pairs[k].handle->dt) {
            return (size_t) mca_coll_gpuring_type_extent(type) == gr_type_bytes(pairs[k].type)
                       ? pairs[k].type
                       : GR_TYPE_OTHER;
        }
    }
    return GR_TYPE_OTHER;
}

enum gr_redop mca_coll_gpuring_redop(struct ompi_op_t *op)
{
    size_t k;

    for (k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
        if (op == &ops[k].handle->op) {
            return ops[k].redop;
        }
    }
    return GR_OP_OTHER;
}
