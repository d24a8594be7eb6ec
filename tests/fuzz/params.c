/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters: as texts and numbers that a user gives, which become checked values whatever they
 * are; and as the checked values of another process, which either are refused or can be used.
 */
#include "coll_gpuring/mpi/params.c"

#include "fuzz.h"

/* ---- what params.c needs of the component ---- */

struct gr_settings gr_settings;

/* All texts of a warning are read. */
void gr_warn(const char *topic, ...)
{
    static const struct {
        const char *topic;
        int texts;
    } known[] = {{"bad-parameter", 4}, {"unknown-parameter", 2}, {"retired-parameter", 1}};
    va_list args;
    size_t row = 0;
    int k;

    while (0 != strcmp(topic, known[row].topic)) {
        row++;
        FUZZ_NEED(row < sizeof(known) / sizeof(known[0]));
    }
    va_start(args, topic);
    for (k = 0; k < known[row].texts; k++) {
        FUZZ_NEED(strlen(va_arg(args, const char *)) < SIZE_MAX);
    }
    va_end(args);
}

const char *mca_coll_gpuring_sync_name(int mode)
{
    return gr_sync_name(mode);
}

const char *gr_transport_name(int kind)
{
    static const char *const names[GR_NTRANSPORTS] = {"ucx", "pml"};

    return names[kind];
}

/* What given.c finds, which asks Open MPI: the same text for each number, and one unknown name. */
static char *written, *unknown;

void mca_coll_gpuring_params_read_given(void)
{
}

void mca_coll_gpuring_params_forget_given(void)
{
}

const char *mca_coll_gpuring_param_given(const char *name)
{
    (void) name;
    return written;
}

const char *mca_coll_gpuring_param_unknown(int *at, char *name, size_t size)
{
    if (NULL == unknown || 0 < (*at)++) {
        return NULL;
    }
    snprintf(name, size, "%s", unknown);
    return name;
}

bool mca_coll_gpuring_selection_names_it(void)
{
    return true;
}

/* ---- the target ---- */

static void set_defaults(void)
{
    size_t k;

    for (k = 0; k < GR_PARAM_ROWS; k++) {
        if (GR_KIND_INT == rows[k].kind) {
            raw[k].number = rows[k].def;
        } else {
            raw[k].text = (char *) text_default[rows[k].kind];
        }
    }
}

/* Some word, or any text. */
static char *some_text(struct fuzz_input *in)
{
    static const char *const words_[] = {"auto",  "ring", "tree",    "none",  "timed",
                                         "ll128", "ucx",  "summary", "json:x"};
    unsigned how = fuzz_below(in, 16);
    size_t n = fuzz_below(in, 200);
    char *text;

    if (how < sizeof(words_) / sizeof(words_[0])) {
        return strdup(words_[how]);
    }
    text = malloc(n + 1);
    FUZZ_NEED(NULL != text);
    fuzz_bytes(in, text, n);
    text[n] = '\0';
    return text;
}

/* A user sets some parameters: all processes can use what becomes of it. */
static void given_by_user(struct fuzz_input *in)
{
    char *texts[8];
    int n = 0;

    memset(&mca_coll_gpuring_bad_param, 0, sizeof(mca_coll_gpuring_bad_param));
    written = 0 == fuzz_below(in, 2) ? some_text(in) : NULL;
    unknown = 0 == fuzz_below(in, 4) ? some_text(in) : NULL;
    while (in->left > 0 && n < 8) {
        size_t k = fuzz_below(in, GR_PARAM_ROWS);

        if (GR_KIND_INT == rows[k].kind) {
            raw[k].number = (int) (fuzz_u64(in) >> fuzz_below(in, 64));
        } else {
            texts[n] = raw[k].text = some_text(in);
            n++;
        }
    }
    mca_coll_gpuring_params_check();
    FUZZ_NEED(mca_coll_gpuring_params_good(&gr_settings.params, &mca_coll_gpuring_bad_param));
    while (n > 0) {
        free(texts[--n]);
    }
    free(written);
    free(unknown);
    written = unknown = NULL;
}

/* What is said of a peer's value in messages, and what is computed from it first. */
static void use(const gr_params_t *params)
{
    struct gr_torus torus = gr_param_torus(params->value[GR_PARAM_TORUS]);
    char text[64];
    int k;

    for (k = 0; k < GR_NPARAMS; k++) {
        FUZZ_NEED(text == mca_coll_gpuring_param_text(k, params->value[k], text, sizeof(text)));
        FUZZ_NEED(strlen(text) > 0 && NULL != mca_coll_gpuring_param_row(k)->name);
    }
    FUZZ_NEED(torus.ndims <= GR_MAX_DIMS && gr_torus_size(&torus) >= 0 &&
              gr_torus_size(&torus) >= torus.ndims / GR_MAX_DIMS);
}

/* Another process says that its checked parameters are these. */
static void said_by_peer(struct fuzz_input *in)
{
    gr_params_t params;
    gr_bad_param_t bad = {.name = ""};

    mca_coll_gpuring_params_check();
    params = gr_settings.params;
    while (in->left > 0) {
        unsigned k = fuzz_below(in, GR_NPARAMS + 1);

        if (GR_NPARAMS == k) {
            fuzz_patch(in, &bad, sizeof(bad));
        } else {
            params.value[k] = (int64_t) ((fuzz_u64(in) >> fuzz_below(in, 64)) - fuzz_below(in, 3));
        }
    }
    if (mca_coll_gpuring_params_good(&params, &bad)) {
        use(&params);
        FUZZ_NEED(strlen(bad.name) < sizeof(bad.name) && strlen(bad.value) < sizeof(bad.value));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};

    set_defaults();
    if (fuzz_below(&in, 2)) {
        given_by_user(&in);
    } else {
        said_by_peer(&in);
    }
    return 0;
}
