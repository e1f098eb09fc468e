/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the words of a statement: units, numbers, names, pairs of key and value. */
#include "program/program_text.h"

const char *const ss_link_kind_words[SS_LINK_KIND_COUNT] = {[SS_LINK_FABRIC] = "nvlink",
                                                            [SS_LINK_NIC] = "nic",
                                                            [SS_LINK_UPLINK] = "uplink",
                                                            [SS_LINK_OTHER] = "other"};

int ss_read_hint_nearest(struct ss_reader *r, int rc, const char *word, const char *const *names, size_t n)
{
    const char *near = n < 10000 ? ss_nearest(word, names, n) : NULL;
    return near ? ss_hint(r->err, rc, "did you mean '%s'?", near) : rc;
}

int ss_pairs_next(struct ss_pairs *p)
{
    struct ss_reader *r = p->r;
    if (p->at >= r->in.nwords)
        return -1;
    const char *word = r->in.words[p->at].text;
    for (size_t i = 0; i < p->nkeys; i++) {
        if (strcmp(word, p->keys[i]) != 0)
            continue;
        if (p->at + 1 >= r->in.nwords)
            return ss_read_fail(r, "'%s' lacks its value", word) - 1;
        if (p->seen & 1u << i)
            return ss_read_fail(r, "'%s' is given twice", word) - 1;
        p->seen |= 1u << i;
        p->at += 2;
        return (int)i;
    }
    int rc = ss_read_fail(r, "unknown word '%.60s'", word);
    const char *near = ss_nearest(word, p->keys, p->nkeys);
    ss_hint(r->err, rc, near ? "did you mean '%s'?" : "a line of this kind takes %s and the like",
            near ? near : p->keys[0]);
    return rc - 1;
}

int ss_read_unit(struct ss_reader *r, size_t word, const char *what, enum ss_unit unit, double *out)
{
    const char *why = "";
    if (word >= r->in.nwords)
        return ss_read_fail(r, "%s is missing", what);
    if (ss_unit_parse(r->in.words[word].text, unit, out, &why))
        return ss_read_fail(r, "%s '%.60s' %s", what, r->in.words[word].text, why);
    return SS_OK;
}

int ss_read_int(struct ss_reader *r, size_t word, const char *what, int lo, int hi, int *out)
{
    int64_t value;
    if (word >= r->in.nwords)
        return ss_read_fail(r, "%s is missing", what);
    if (ss_parse_i64(r->in.words[word].text, lo, hi, &value))
        return ss_read_fail(r, "%s '%.60s' is not a whole number from %d to %d", what, r->in.words[word].text,
                            lo, hi);
    *out = (int)value;
    return SS_OK;
}

int ss_read_ref(struct ss_reader *r, size_t word, const char *what, const struct ss_names *names, int *out)
{
    if (word >= r->in.nwords)
        return ss_read_fail(r, "the name of a %s is missing", what);
    const char *name = r->in.words[word].text;
    *out = ss_names_find(names, name);
    if (*out >= 0)
        return SS_OK;
    int rc = ss_read_fail(r, "there is no %s '%.80s' above", what, name);
    return ss_read_hint_nearest(r, rc, name, names->name, names->n);
}

int ss_read_name(struct ss_reader *r, size_t word, const char *what, char *out, size_t size)
{
    if (word >= r->in.nwords || !r->in.words[word].text[0])
        return ss_read_fail(r, "the name of the %s is missing", what);
    if (!ss_copy(out, size, r->in.words[word].text))
        return ss_read_fail(r, "the name of the %s is longer than %zu bytes", what, size - 1);
    return SS_OK;
}

int ss_read_line_of(struct ss_reader *r, int **lines, size_t *cap, int index, int line)
{
    SS_NEED(!ss_grow(lines, cap, (size_t)index + 1, sizeof **lines), r->err);
    (*lines)[index] = line;
    return SS_OK;
}

int ss_read_label(const char *word)
{
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        if (!strcmp(word, ss_label_name(i)))
            return i;
    return -1;
}
