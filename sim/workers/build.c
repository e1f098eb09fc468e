/* SPDX-License-Identifier: Apache-2.0 */
/* The linker's mark of this build of the program or library. */
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "workers/journal.h"

struct seek {
    ElfW(Addr) here;
    char *id;
};

/* Reads the notes of a segment and copies the linker's mark. */
static void read_notes(const char *at, size_t size, char *id)
{
    const char *end = at + size;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        const char *name = at + sizeof note, *bytes = name + ((note.n_namesz + 3) & ~3U);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(name, "GNU", 4)) {
            for (unsigned i = 0; i < note.n_descsz && i < 20; i++)
                sprintf(id + 2 * i, "%02x", (unsigned char)bytes[i]);
            return;
        }
        at = bytes + ((note.n_descsz + 3) & ~3U);
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct seek *s = ctx;
    int found = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        ElfW(Addr) from = info->dlpi_addr + p->p_vaddr;
        found |= p->p_type == PT_LOAD && s->here >= from && s->here < from + p->p_memsz;
    }
    for (int i = 0; found && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            read_notes((const char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz, s->id);
    }
    return found;
}

void ss_build_id(char id[41])
{
    struct seek s = {(ElfW(Addr))(uintptr_t)&ss_build_id, id};
    strcpy(id, "-");
    dl_iterate_phdr(visit, &s);
}
