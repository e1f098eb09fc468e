/* SPDX-License-Identifier: Apache-2.0 */
/* A program as one block, which another process maps. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "base/map.h"
#include "replay/engine.h"

#define ALIGN 16

/* Runs twice over a program: without a block it only measures. */
struct packer {
    char *block;
    size_t size;
    struct ss_map known; /* where an array is, in units of ALIGN: several may point to one */
    int failed;
};

/* Where n bytes went; *is_new: 0 where they had been there. 0: there are none. */
static size_t add(struct packer *w, const void *from, size_t n, int *is_new)
{
    *is_new = 0;
    if (!n || w->failed)
        return 0;
    uint64_t key = ss_mix64((uint64_t)(uintptr_t)from) ^ n;
    int at = ss_map_get(&w->known, key);
    if (at >= 0)
        return (size_t)at * ALIGN;
    size_t start = (w->size + ALIGN - 1) / ALIGN * ALIGN;
    if (start / ALIGN > INT32_MAX || ss_map_put(&w->known, key, (int)(start / ALIGN)) < 0) {
        w->failed = 1;
        return 0;
    }
    if (w->block)
        memcpy(w->block + start, from, n);
    w->size = start + n;
    *is_new = 1;
    return start;
}

/* Sets a pointer in the block to an offset. */
static void point(const struct packer *w, size_t pointer, size_t at)
{
    void *value = (void *)(uintptr_t)at;
    if (w->block)
        memcpy(w->block + pointer, &value, sizeof value);
}

static void pack_templates(struct packer *w, const struct ss_program *p)
{
    int is_new;
    size_t at = add(w, p->templates, (size_t)p->ntemplates * sizeof *p->templates, &is_new);
    point(w, offsetof(struct ss_program, templates), at);
    for (int i = 0; i < p->ntemplates; i++) {
        const struct ss_template *t = &p->templates[i];
        size_t events = add(w, t->events, (size_t)t->nevents * sizeof *t->events, &is_new);
        point(w, at + (size_t)i * sizeof *t + offsetof(struct ss_template, events), events);
    }
}

static void pack_classes(struct packer *w, const struct ss_program *p)
{
    int is_new;
    size_t at = add(w, p->classes, (size_t)p->nclasses * sizeof *p->classes, &is_new);
    point(w, offsetof(struct ss_program, classes), at);
    for (int i = 0; i < p->nclasses; i++) {
        const struct ss_program_class *c = &p->classes[i];
        size_t slots = add(w, c->slots, (size_t)ss_program_stored(c) * sizeof *c->slots, &is_new);
        point(w, at + (size_t)i * sizeof *c + offsetof(struct ss_program_class, slots), slots);
    }
}

static void pack_collectives(struct packer *w, const struct ss_program *p)
{
    int is_new;
    size_t all = add(w, p->collectives, (size_t)p->ncollectives * sizeof *p->collectives, &is_new);
    point(w, offsetof(struct ss_program, collectives), all);
    for (int g = 0; g < p->ncollectives; g++) {
        const struct ss_collective *c = &p->collectives[g];
        size_t at = all + (size_t)g * sizeof *c;
        point(w, at + offsetof(struct ss_collective, members),
              add(w, c->members, (size_t)c->nmembers * sizeof *c->members, &is_new));
        size_t phases = add(w, c->phases, (size_t)c->nphases * sizeof *c->phases, &is_new);
        point(w, at + offsetof(struct ss_collective, phases), phases);
        for (int i = 0, known = !is_new; i < c->nphases && !known; i++) {
            const struct ss_flow_phase *f = &c->phases[i];
            point(w, phases + (size_t)i * sizeof *f + offsetof(struct ss_flow_phase, flows),
                  add(w, f->flows, (size_t)f->nflows * sizeof *f->flows, &is_new));
        }
    }
}

static int pack(struct packer *w, const struct ss_program *p)
{
    int is_new;
    w->size = sizeof *p;
    if (w->block)
        memcpy(w->block, p, sizeof *p);
    point(w, offsetof(struct ss_program, source), 0);
    point(w, offsetof(struct ss_program, links),
          add(w, p->links, (size_t)p->nlinks * sizeof *p->links, &is_new));
    point(w, offsetof(struct ss_program, paths),
          add(w, p->paths, (size_t)p->npaths * sizeof *p->paths, &is_new));
    point(w, offsetof(struct ss_program, mixes),
          add(w, p->mixes, (size_t)p->nmixes * sizeof *p->mixes, &is_new));
    point(w, offsetof(struct ss_program, channels),
          add(w, p->channels, (size_t)p->nchannels * sizeof *p->channels, &is_new));
    pack_templates(w, p);
    pack_classes(w, p);
    pack_collectives(w, p);
    ss_map_free(&w->known);
    w->known = (struct ss_map){0};
    return w->failed;
}

int ss_program_pack(const struct ss_program *p, size_t *size)
{
    struct packer w = {0};
    int fd = pack(&w, p) ? -1 : memfd_create("stepsim-program", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    *size = w.size;
    if (ftruncate(fd, (off_t)w.size) == 0)
        w.block = mmap(NULL, w.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!w.block || w.block == MAP_FAILED || pack(&w, p)) {
        close(fd);
        fd = -1;
    }
    if (w.block && w.block != MAP_FAILED)
        munmap(w.block, *size);
    return fd;
}

/* An offset becomes a pointer, once: several collectives may have the same phases. */
#define SET(pointer)                                                                                         \
    ((pointer) = (uintptr_t)(pointer) && (uintptr_t)(pointer) < size                                         \
                     ? (void *)(block + (uintptr_t)(pointer))                                                \
                     : (pointer))

struct ss_program *ss_program_unpack(char *block, size_t size)
{
    struct ss_program *p = (struct ss_program *)block;
    SET(p->links);
    SET(p->paths);
    SET(p->mixes);
    SET(p->channels);
    SET(p->templates);
    SET(p->classes);
    SET(p->collectives);
    for (int i = 0; i < p->ntemplates; i++)
        SET(p->templates[i].events);
    for (int i = 0; i < p->nclasses; i++)
        SET(p->classes[i].slots);
    for (int g = 0; g < p->ncollectives; g++) {
        struct ss_collective *c = &p->collectives[g];
        SET(c->members);
        SET(c->phases);
        for (int i = 0; i < c->nphases; i++)
            SET(c->phases[i].flows);
    }
    return p;
}
