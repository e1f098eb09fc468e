/* SPDX-License-Identifier: Apache-2.0 */
/* Reads links, paths, mixes, channels and collectives of a program text. */
#include "program/program_text.h"

/* Registers the name in word 1; "a second link 'x'" when there is one. */
static int add_name(struct ss_reader *r, const char *what, struct ss_names *names)
{
    if (r->in.nwords < 2 || !r->in.words[1].text[0])
        return ss_read_fail(r, "the name of the %s is missing", what);
    int rc = ss_names_add(names, r->in.words[1].text);
    if (rc == SS_ERR_NOMEM)
        return ss_nomem(r->err);
    return rc ? ss_read_fail(r, "a second %s '%.80s'", what, r->in.words[1].text) : SS_OK;
}

int ss_read_link(struct ss_reader *r)
{
    static const char *const keys[] = {"bandwidth", "latency", "kind"};
    struct ss_pairs pairs = {r, 2, keys, SS_ARRAY_LEN(keys), 0};
    struct ss_link link = {.kind = SS_LINK_OTHER};
    int key, rc = ss_read_name(r, 1, "link", link.name, sizeof link.name);
    while (!rc && (key = ss_pairs_next(&pairs)) != -1) {
        if (key < -1)
            return key + 1;
        const char *word = r->in.words[pairs.at - 1].text;
        if (key == 0)
            rc = ss_read_unit(r, pairs.at - 1, "bandwidth", SS_UNIT_BANDWIDTH, &link.bandwidth);
        else if (key == 1)
            rc = ss_read_unit(r, pairs.at - 1, "latency", SS_UNIT_TIME, &link.latency);
        else {
            for (link.kind = 0; link.kind < SS_LINK_KIND_COUNT; link.kind++)
                if (!strcmp(strcmp(word, "fabric") ? word : "nvlink", ss_link_kind_words[link.kind]))
                    break;
            if (link.kind == SS_LINK_KIND_COUNT)
                rc = ss_read_fail(r, "a link is of kind fabric, nic, uplink or other, not '%.40s'", word);
        }
    }
    if (!rc && !(link.bandwidth > 0))
        rc = ss_read_fail(r, "link '%s' needs a bandwidth above 0, such as 'bandwidth 25GBps'", link.name);
    SS_THEN(rc, add_name(r, "link", &r->links));
    if (!rc && ss_grow(&r->p->links, &r->link_cap, (size_t)r->p->nlinks + 1, sizeof link))
        rc = ss_nomem(r->err);
    if (!rc)
        r->p->links[r->p->nlinks++] = link;
    return rc;
}

int ss_read_path(struct ss_reader *r)
{
    struct ss_path path = {0};
    int rc = add_name(r, "path", &r->paths);
    for (size_t i = 2; i < r->in.nwords && !rc; i++) {
        const struct ss_word *word = &r->in.words[i];
        if (!word->quoted && word->text[0] == '*') {
            const char *why = "";
            if (!path.nlinks)
                return ss_read_fail(r, "a weight must follow a link");
            if (ss_unit_parse(word->text + 1, SS_UNIT_NONE, &path.weight[path.nlinks - 1], &why) ||
                !(path.weight[path.nlinks - 1] > 0))
                return ss_read_fail(r, "weight '%.40s' is not a number above 0, such as '*4'", word->text);
            continue;
        }
        if (path.nlinks == SS_ROUTE_MAX)
            return ss_read_fail(r, "a path has at most %d links", SS_ROUTE_MAX);
        path.weight[path.nlinks] = 1;
        rc = ss_read_ref(r, i, "link", &r->links, &path.link[path.nlinks++]);
    }
    if (!rc && ss_grow(&r->p->paths, &r->path_cap, (size_t)r->p->npaths + 1, sizeof path))
        rc = ss_nomem(r->err);
    SS_THEN(rc, ss_read_line_of(r, &r->source->path, &r->path_lines, r->p->npaths, r->in.line));
    if (!rc)
        r->p->paths[r->p->npaths++] = path;
    return rc;
}

static int append_mix(struct ss_reader *r, const struct ss_mix *mix)
{
    SS_NEED(!ss_grow(&r->p->mixes, &r->mix_cap, (size_t)r->p->nmixes + 1, sizeof *mix), r->err);
    int rc = ss_read_line_of(r, &r->source->mix, &r->mix_lines, r->p->nmixes, r->in.line);
    if (!rc)
        r->p->mixes[r->p->nmixes++] = *mix;
    return rc;
}

int ss_read_mix(struct ss_reader *r)
{
    struct ss_mix mix = {{0}};
    double sum = 0;
    int rc = add_name(r, "mix", &r->mixes);
    for (size_t i = 2; i < r->in.nwords && !rc; i += 2) {
        int label = ss_read_label(r->in.words[i].text);
        if (label < 0)
            return ss_hint(r->err, ss_read_fail(r, "there is no label '%.40s'", r->in.words[i].text),
                           "labels are compute, recompute, optimizer, tp, cp, ep, dp, offload, pp, bubble, "
                           "imbalance and other");
        rc = ss_read_unit(r, i + 1, ss_label_name(label), SS_UNIT_FRACTION, &mix.fraction[label]);
        sum += mix.fraction[label];
    }
    if (!rc && !(sum > 1 - 1e-9 && sum < 1 + 1e-9))
        rc = ss_read_fail(r, "the fractions of a mix must sum to 1, not %.10g", sum);
    return rc ? rc : append_mix(r, &mix);
}

int ss_read_pure_mix(struct ss_reader *r, int label, int *out)
{
    const char *name = ss_label_name(label);
    *out = ss_names_find(&r->mixes, name);
    if (*out >= 0)
        return SS_OK;
    struct ss_mix mix = {{0}};
    mix.fraction[label] = 1;
    *out = r->p->nmixes;
    return ss_names_add(&r->mixes, name) ? ss_nomem(r->err) : append_mix(r, &mix);
}

/* ---- classes by name, before they are there ---- */

static int refer(struct ss_reader *r, size_t word, int kind, int index, int member)
{
    SS_NEED(!ss_grow(&r->refs, &r->ref_cap, r->nrefs + 1, sizeof *r->refs), r->err);
    r->refs[r->nrefs++] = (struct ss_class_ref){r->in.words[word].text, r->in.line, kind, index, member};
    return SS_OK;
}

int ss_read_resolve(struct ss_reader *r)
{
    for (size_t i = 0; i < r->nrefs; i++) {
        const struct ss_class_ref *ref = &r->refs[i];
        int cls = ss_names_find(&r->classes, ref->name);
        if (cls < 0) {
            int rc =
                ss_fail(r->err, SS_ERR_INPUT, r->in.file, ref->line, "there is no class '%.80s'", ref->name);
            const char *near =
                ss_nearest(ref->name, r->classes.name, r->classes.n < 10000 ? r->classes.n : 0);
            return near ? ss_hint(r->err, rc, "did you mean '%s'?", near) : rc;
        }
        if (ref->kind == 2)
            r->p->collectives[ref->index].members[ref->member] = cls;
        else if (ref->kind == 1)
            r->p->channels[ref->index].to = cls;
        else
            r->p->channels[ref->index].from = cls;
    }
    return SS_OK;
}

int ss_read_channel(struct ss_reader *r)
{
    enum { FROM, TO, PATH, TAG, LATENCY, RENDEZVOUS, SM_SHARE };
    static const char *const keys[] = {"from", "to", "path", "tag", "latency", "rendezvous", "sm-share"};
    struct ss_pairs pairs = {r, 2, keys, SS_ARRAY_LEN(keys), 0};
    struct ss_channel ch = {.from = -1, .to = -1, .path = -1};
    int key, index = r->p->nchannels, rc = add_name(r, "channel", &r->channels);
    while (!rc && (key = ss_pairs_next(&pairs)) != -1) {
        if (key < -1)
            return key + 1;
        size_t at = pairs.at - 1;
        const char *word = r->in.words[at].text;
        switch (key) {
        case FROM:
        case TO: rc = refer(r, at, key == TO, index, 0); break;
        case PATH: rc = ss_read_ref(r, at, "path", &r->paths, &ch.path); break;
        case TAG: rc = ss_read_int(r, at, "tag", 0, 1 << 20, &ch.tag); break;
        case LATENCY: rc = ss_read_unit(r, at, "latency", SS_UNIT_TIME, &ch.latency); break;
        case SM_SHARE: rc = ss_read_unit(r, at, "sm-share", SS_UNIT_FRACTION, &ch.sm_share); break;
        default:
            ch.rendezvous = !strcmp(word, "yes");
            if (!ch.rendezvous && strcmp(word, "no") != 0)
                rc = ss_read_fail(r, "rendezvous is 'yes' or 'no', not '%.40s'", word);
        }
    }
    if (!rc && (~pairs.seen & (1u << FROM | 1u << TO | 1u << PATH)))
        rc = ss_read_fail(r, "a channel needs 'from CLASS to CLASS path PATH'");
    if (!rc && ss_grow(&r->p->channels, &r->channel_cap, (size_t)index + 1, sizeof ch))
        rc = ss_nomem(r->err);
    SS_THEN(rc, ss_read_line_of(r, &r->source->channel, &r->channel_lines, index, r->in.line));
    if (!rc)
        r->p->channels[r->p->nchannels++] = ch;
    return rc;
}

/* ---- collectives ---- */

static int read_members(struct ss_reader *r, struct ss_collective *k, int index, size_t *cap)
{
    if (r->in.nwords < 2)
        return ss_read_fail(r, "the classes that take part are missing");
    for (size_t i = 1; i < r->in.nwords; i++) {
        int rc = refer(r, i, 2, index, k->nmembers);
        if (!rc && ss_grow(&k->members, cap, (size_t)k->nmembers + 1, sizeof *k->members))
            rc = ss_nomem(r->err);
        if (rc)
            return rc;
        k->members[k->nmembers++] = -1;
    }
    return SS_OK;
}

static int read_phase(struct ss_reader *r, struct ss_collective *k, size_t *cap)
{
    struct ss_flow_phase phase = {0};
    int rc = SS_OK;
    if (r->in.nwords > 1) {
        if (strcmp(r->in.words[1].text, "latency") != 0 || r->in.nwords != 3)
            return ss_read_fail(r, "a phase is 'phase [latency TIME]'");
        rc = ss_read_unit(r, 2, "latency", SS_UNIT_TIME, &phase.latency);
    }
    if (!rc && ss_grow(&k->phases, cap, (size_t)k->nphases + 1, sizeof phase))
        rc = ss_nomem(r->err);
    if (!rc)
        k->phases[k->nphases++] = phase;
    return rc;
}

static int read_flow(struct ss_reader *r, struct ss_collective *k, size_t *cap)
{
    struct ss_flow flow;
    if (!k->nphases)
        return ss_read_fail(r, "a flow must follow a phase");
    if (r->in.nwords != 3)
        return ss_read_fail(r, "a flow is 'flow PATH BYTES'");
    struct ss_flow_phase *phase = &k->phases[k->nphases - 1];
    int rc = ss_read_ref(r, 1, "path", &r->paths, &flow.path);
    SS_THEN(rc, ss_read_unit(r, 2, "bytes", SS_UNIT_BYTES, &flow.bytes));
    if (!rc && ss_grow(&phase->flows, cap, (size_t)phase->nflows + 1, sizeof flow))
        rc = ss_nomem(r->err);
    if (!rc)
        phase->flows[phase->nflows++] = flow;
    return rc;
}

static int read_collective_body(struct ss_reader *r, struct ss_collective *k, int index)
{
    size_t members = 0, phases = 0, flows = 0;
    int more, rc = SS_OK;
    while (!rc && (more = ss_lines_next(&r->in)) == 1) {
        const char *word = r->in.words[0].text;
        if (!strcmp(word, "}") && r->in.nwords == 1)
            return k->nmembers ? SS_OK : ss_read_fail(r, "collective '%s' has no 'members' line", k->name);
        if (!strcmp(word, "members"))
            rc = read_members(r, k, index, &members);
        else if (!strcmp(word, "phase")) {
            rc = read_phase(r, k, &phases);
            flows = 0;
        } else if (!strcmp(word, "flow"))
            rc = read_flow(r, k, &flows);
        else
            rc = ss_hint(r->err, ss_read_fail(r, "unknown word '%.60s' in a collective", word),
                         "its lines are 'members', 'phase', 'flow' and a closing '}'");
    }
    if (rc || more < 0)
        return rc ? rc : more;
    return ss_read_fail(r, "the '}' of collective '%s' is missing", k->name);
}

static int read_collective_head(struct ss_reader *r, struct ss_collective *k)
{
    enum { NAME, LABEL, BYTES, SM_SHARE };
    static const char *const keys[] = {"name", "label", "bytes", "sm-share"};
    struct ss_pairs pairs = {r, 2, keys, SS_ARRAY_LEN(keys), 0};
    if (strcmp(r->in.words[--r->in.nwords].text, "{") != 0)
        return ss_read_fail(r, "the line of a collective must end in '{'");
    int key, rc = add_name(r, "collective", &r->collectives);
    k->label = SS_LABEL_DP;
    k->part = 1;
    while (!rc && (key = ss_pairs_next(&pairs)) != -1) {
        if (key < -1)
            return key + 1;
        size_t at = pairs.at - 1;
        if (key == NAME)
            rc = ss_read_name(r, at, "collective", k->name, sizeof k->name);
        else if (key == BYTES)
            rc = ss_read_unit(r, at, "bytes", SS_UNIT_BYTES, &k->bytes);
        else if (key == SM_SHARE)
            rc = ss_read_unit(r, at, "sm-share", SS_UNIT_FRACTION, &k->sm_share);
        else if ((k->label = ss_read_label(r->in.words[at].text)) < 0)
            rc = ss_read_fail(r, "there is no label '%.40s'", r->in.words[at].text);
    }
    return rc || (pairs.seen & 1u << NAME) ? rc : ss_read_name(r, 1, "collective", k->name, sizeof k->name);
}

int ss_read_collective(struct ss_reader *r)
{
    int index = r->p->ncollectives;
    SS_NEED(!ss_grow(&r->p->collectives, &r->collective_cap, (size_t)index + 1, sizeof *r->p->collectives),
            r->err);
    struct ss_collective *k = &r->p->collectives[r->p->ncollectives++];
    memset(k, 0, sizeof *k);
    int rc = ss_read_line_of(r, &r->source->collective, &r->collective_lines, index, r->in.line);
    SS_THEN(rc, read_collective_head(r, k));
    return rc ? rc : read_collective_body(r, k, index);
}
