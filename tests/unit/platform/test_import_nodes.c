/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Platforms from what nodes tell of themselves. The files were written anew after published ones: the matrices of DGX-2
 * (NVIDIA/nccl-tests issue 78), of H100 (sgl-project/sglang issue 13973) and of GB200 (NVIDIA/k8s-test-infra issue 371), IBM's
 * description of POWER8 S822LC (P100 with two links to the GPU beside it and two to its processor), Azure/azhpc-images
 * topology/ndv4-topo.xml and ndv5-topo.xml, and dumps of NCCL as in NVIDIA/nccl's issues.
 */
#include <unistd.h>

#include "platform/node_facts.h"
#include "stepsim/replay.h"
#include "suite.h"

static char note[1200];

static void place(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/tests/unit/data/%s", SS_SOURCE_DIR, name);
}

/* Imports up to three files and loads what was written. */
static struct ss_platform *import(const char *const *names, int n, const char *card, int nodes,
                                  struct ss_error *e)
{
    struct ss_import_options options = {.card = card, .nodes = nodes};
    struct ss_platform_options ask = {.asker = ss_simgrid_ask_routes};
    struct ss_platform *p = NULL;
    char paths[3][512], file[] = "/tmp/stepsim-import-XXXXXX.xml";
    const char *list[3];
    int fd = mkstemps(file, 4), status;
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    for (int i = 0; i < n; i++) {
        place(names[i], paths[i], sizeof(paths[i]));
        list[i] = paths[i];
    }
    memset(e, 0, sizeof(*e));
    status = ss_platform_import(list, n, &options, out, note, sizeof(note), e);
    fclose(out);
    if (status == SS_OK) {
        CU_ASSERT_EQUAL(ss_simgrid_probe(file, e), SS_OK);
        status = ss_platform_load(file, &ask, &p, e);
        if (status != SS_OK)
            printf("\n  %s:%d: %s\n", e->file, e->line, e->message);
        CU_ASSERT_EQUAL(status, SS_OK);
    }
    unlink(file);
    return p;
}

static void check(const char *name, const char *card, const char *want, int gpus, int nics, double nvlink,
                  double nic)
{
    struct ss_error e;
    struct ss_platform *p = import(&name, 1, card, 0, &e);

    if (p == NULL)
        printf("\n  %s: %s\n", name, e.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_STRING_EQUAL(ss_platform_card(p)->name, want);
    CU_ASSERT_EQUAL(ss_platform_gpus_per_node(p), gpus);
    CU_ASSERT_EQUAL(ss_platform_nics_per_node(p), nics);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_fabric_bandwidth(p), nvlink, 1);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_nic_bandwidth(p), nic, 1);
    ss_platform_free(p);
}

/* Links of a GPU times 25 GB/s (V100 to H200) or 50 GB/s (Blackwell). */
TEST(switches)
{
    check("topo-dgx2.txt", NULL, "V100-32GB", 16, 8, 6 * 25e9, 100e9 / 8);
    check("topo-h100.txt", NULL, "H100-80GB", 8, 8, 18 * 25e9, 400e9 / 8);
    check("topo-h100.txt", "h200", "H200-141GB", 8, 8, 18 * 25e9, 400e9 / 8);
    check("topo-gb200.txt", "gb200", "GB200-186GB", 4, 4, 18 * 50e9, 400e9 / 8);
    check("nccl-h200.xml", NULL, "H200-141GB", 8, 8, (5 + 5 + 4 + 4) * 25e9, 400e9 / 8);
    /* HGX A100 of 4 GPUs has 4 links for each pair: a mesh of 3 x 4. */
    check("nccl-a100-4.xml", NULL, "A100-80GB", 4, 4, 3 * 4 * 25e9, 200e9 / 8);
}

/* Clouds' files have neither NVLinks nor names nor rates: the card's. */
TEST(azure)
{
    struct ss_error e;
    const char *name = "nccl-ndv5.xml";

    check("nccl-ndv4.xml", "a100", "A100-80GB", 8, 8, 300e9, 200e9 / 8);
    check("nccl-ndv5.xml", "h100", "H100-80GB", 8, 8, 450e9, 400e9 / 8);
    CU_ASSERT_PTR_NOT_NULL(strstr(note, "no NVLink matrix"));
    CU_ASSERT_PTR_NULL(import(&name, 1, NULL, 0, &e));
    CU_ASSERT(e.code == SS_ERR_INPUT && strstr(e.hint, "--card") != NULL);
}

/* Two P100 a socket with 2 x 20 GB/s between them; to the others over both processors. */
static void check_power8(const char *name, double host)
{
    struct ss_error e;
    struct ss_route r;
    struct ss_link link;
    char card[512];
    struct ss_platform *p;

    place("card-p100.xml", card, sizeof(card));
    p = import(&name, 1, card, 2, &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(ss_platform_nodes(p), 2);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_fabric_bandwidth(p), 2 * 20e9, 1);
    ss_platform_route(p, 5, 4, &r);
    CU_ASSERT_EQUAL_FATAL(r.nlinks, 1);
    ss_platform_link(p, r.link[0], &link);
    CU_ASSERT_STRING_EQUAL(link.name, "nvlink-1-0-1_DOWN");
    ss_platform_route(p, 0, 3, &r);
    CU_ASSERT_EQUAL_FATAL(r.nlinks, 2);
    for (int i = 0; i < 2; i++) {
        ss_platform_link(p, r.link[i], &link);
        CU_ASSERT_STRING_EQUAL(link.name, i == 0 ? "pcie-0-0_UP" : "pcie-0-3_DOWN");
        CU_ASSERT_DOUBLE_EQUAL(link.bandwidth, host, 1);
    }
    ss_platform_route(p, 1, 6, &r);
    CU_ASSERT_EQUAL_FATAL(r.nlinks, 2);
    ss_platform_link(p, r.link[0], &link);
    CU_ASSERT(link.kind == SS_LINK_NIC && strncmp(link.name, "nic-0-", 6) == 0);
    ss_platform_free(p);
}

TEST(power8)
{
    const char *name = "topo-power8.txt";
    struct ss_error e;

    check_power8("topo-power8.txt", 12e9);     /* PCIe, for the matrix says no more */
    check_power8("nccl-power8.xml", 2 * 20e9); /* the links to the processor are in the dump */
    CU_ASSERT_PTR_NULL(import(&name, 1, NULL, 0, &e));
    CU_ASSERT(e.code == SS_ERR_UNSUPPORTED && strstr(e.message, "P100") != NULL && strstr(e.hint, "--card"));
}

/* NVLinks as the GPU's: 2 x 20 GB/s of a P100, whatever card stands in for it. */
TEST(stand_in)
{
    const char *name = "topo-power8.txt";
    struct ss_error e;
    struct ss_platform *p = import(&name, 1, "v100", 2, &e);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_STRING_EQUAL(ss_platform_card(p)->name, "V100-16GB");
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_fabric_bandwidth(p), 2 * 20e9, 1);
    ss_platform_free(p);
}

/* vllm-project/vllm issue 16336: of eight B200 the third is off NVLink. The others have 18 links of 50 GB/s each to a switch, not to
 * each of the six; it has PCIe. */
TEST(one_off)
{
    const char *name = "topo-b200-one-off.txt";
    struct ss_error e;
    struct ss_route r;
    struct ss_link link;
    struct ss_platform *p = import(&name, 1, NULL, 2, &e);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(ss_platform_gpus_per_node(p), 8);
    ss_platform_route(p, 0, 7, &r);
    CU_ASSERT_EQUAL_FATAL(r.nlinks, 2);
    ss_platform_link(p, r.link[0], &link);
    CU_ASSERT_STRING_EQUAL(link.name, "nvlink-0-0_UP");
    CU_ASSERT_DOUBLE_EQUAL(link.bandwidth, 18 * 50e9, 1);
    ss_platform_route(p, 10, 8, &r);
    CU_ASSERT_EQUAL_FATAL(r.nlinks, 2);
    ss_platform_link(p, r.link[0], &link);
    CU_ASSERT_STRING_EQUAL(link.name, "pcie-1-2_UP");
    CU_ASSERT_DOUBLE_EQUAL(link.bandwidth, 55e9, 1);
    ss_platform_free(p);
}

/* NVIDIA/nccl issue 671: the cube of a DGX-1, six links of 25 GB/s a GPU, one or two to each of four others. */
TEST(cube)
{
    const char *name = "nccl-dgx1v.xml";
    struct ss_error e;
    struct ss_route r;
    struct ss_link link;
    struct ss_platform *p = import(&name, 1, "v100", 2, &e);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int to = 1; to < 5; to++) {
        ss_platform_route(p, 0, to, &r);
        CU_ASSERT_EQUAL_FATAL(r.nlinks, 1);
        ss_platform_link(p, r.link[0], &link);
        CU_ASSERT_DOUBLE_EQUAL(link.bandwidth, to < 3 ? 25e9 : 50e9, 1);
    }
    ss_platform_route(p, 0, 7, &r); /* over a GPU between them */
    CU_ASSERT_EQUAL_FATAL(r.nlinks, 2);
    ss_platform_link(p, r.link[0], &link);
    CU_ASSERT_EQUAL(link.kind, SS_LINK_FABRIC);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_nic_bandwidth(p), 12.5e9, 1);
    ss_platform_free(p);
}

TEST(many)
{
    static const char *const equal[] = {"topo-h100.txt", "topo-h100.txt", "topo-h100.txt"};
    static const char *const unlike[] = {"nccl-ndv5.xml", "topo-h100.txt", "nccl-ndv5.xml"};
    static const char *const cards[] = {"topo-h100.txt", "topo-dgx2.txt"};
    static const char *const dump[] = {"nccl-gb200-2.xml"};
    struct ss_error e;
    struct ss_platform *p = import(equal, 3, NULL, 0, &e);

    CU_ASSERT(p != NULL && ss_platform_nodes(p) == 3 && p->foreign == NULL);
    ss_platform_free(p);
    p = import(equal, 3, NULL, 512, &e);
    CU_ASSERT(p != NULL && ss_platform_nodes(p) == 512);
    ss_platform_free(p);
    /* Azure's has no rates, and so the card's: the same node. */
    p = import(unlike, 3, "h100", 0, &e);
    CU_ASSERT(p != NULL && ss_platform_nodes(p) == 3);
    ss_platform_free(p);
    CU_ASSERT_PTR_NULL(import(cards, 2, NULL, 0, &e));
    CU_ASSERT(e.code == SS_ERR_UNSUPPORTED && strstr(e.message, "beside one of") != NULL);
    /* Trays that one NVLink switch joins are one node of 8 GPUs. */
    p = import(dump, 1, NULL, 0, &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT(ss_platform_nodes(p) == 1 && ss_platform_gpus_per_node(p) == 8 &&
              ss_platform_joined_nodes(p) == 2);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_fabric_bandwidth(p), 900e9, 1);
    ss_platform_free(p);
}

TEST(unlike)
{
    static const char *const names[] = {"nccl-a100-4.xml", "lstopo-a100-4-doubled.xml"};
    struct ss_error e;
    struct ss_platform *p = import(names, 2, NULL, 0, &e);
    struct ss_route r;
    struct ss_link link;

    /* 4 NICs of 200 Gb/s, as the dump says, and 2 of the card table's in the other node */
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT(ss_platform_nodes(p) == 2 && p->foreign != NULL);
    ss_platform_route(p, 1, 7, &r);
    CU_ASSERT_EQUAL_FATAL(r.nlinks, 2);
    ss_platform_link(p, r.link[0], &link);
    CU_ASSERT_STRING_EQUAL(link.name, "nic-0-1_UP");
    ss_platform_link(p, r.link[1], &link);
    CU_ASSERT_STRING_EQUAL(link.name, "nic-1-1_DOWN");
    ss_platform_free(p);
    CU_ASSERT_PTR_NULL(import(names, 2, NULL, 3, &e));
    CU_ASSERT_EQUAL(e.code, SS_ERR_USAGE);
}

static void refuse(const char *text, int line, const char *part)
{
    struct ss_node_facts facts;
    struct ss_error e = {0};

    CU_ASSERT_NOT_EQUAL(ss_import_facts(text, strlen(text), "x", &facts, &e), SS_OK);
    if (e.line != line || strstr(e.message, part) == NULL || e.hint[0] == 0)
        printf("\n  line %d: %s (%s)\n", e.line, e.message, e.hint);
    CU_ASSERT(e.line == line && strstr(e.message, part) != NULL && e.hint[0] != 0);
}

TEST(refused)
{
    refuse("hello\n", 1, "neither XML");
    refuse("<platform version=\"4.1\"/>", 1, "a platform");
    refuse("<html/>", 1, "<html>");
    refuse("<system/>", 1, "no GPU");
    refuse("<system>\n<cpu><pci class=\"0x0302\" busid=\"a\"><gpu>\n<nvlink "
           "count=\"x\"/></gpu></pci></cpu></system>",
           3, "count=\"x\"");
    refuse("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\nGPU1\tNV?\t X \n", 3, "NV?");
    refuse("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\nGPU1\tNV1\t X \n", 0, "unlike NVLinks");
    refuse("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\n", 4 - 1, "rows are missing");
    refuse("GPU 0: NVIDIA A100 (UUID: a)\nGPU 1: NVIDIA H100 (UUID: b)\n\tGPU0\tGPU1\n", 2, "two models");
}

/* Two processors with 96 GiB each; the card table has 192 GB. */
TEST(host_memory)
{
    const char *name = "lstopo-v100-4-mesh.xml";
    struct ss_error e;
    struct ss_platform *p = import(&name, 1, NULL, 0, &e);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(ss_platform_card(p)->host_memory, 2 * 96 * 1073741824.0);
    ss_platform_free(p);
}

/* NICs count that are behind a GPU's own switch, one (PIX) or several (PXB), where there are such. */
TEST(near_nics)
{
    static const char text[] = "\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\n"
                               "GPU0\t X \tNV4\tPIX\tPXB\tSYS\n"
                               "GPU1\tNV4\t X \tSYS\tSYS\tPHB\n";
    struct ss_node_facts facts;

    CU_ASSERT_EQUAL_FATAL(ss_node_facts_topo(text, "topo.txt", &facts, NULL), SS_OK);
    CU_ASSERT(facts.ngpus == 2 && facts.nnics == 2 && facts.listed_nics == 3);
}
