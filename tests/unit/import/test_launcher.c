/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of launchers: which nodes and GPUs of each they are, with what the script asks its scheduler for, and what is refused. */

#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"
#include "stepsim/scenario.h"
#include "suite.h"

#define JOB                                                                                                  \
    "pretrain_gpt.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 "            \
    "--max-position-embeddings 1024 --vocab-size 32000 --micro-batch-size 1 --gradient-accumulation-steps "  \
    "1 --bf16"

struct row {
    const char *batch;   /* lines of the script before the launcher */
    const char *command; /* JOB is behind it */
    int nodes, gpus;     /* of each; 0: it is refused */
    const char *said;    /* by a note, or by the error; "!text": by no note; NULL: any */
};

/* The words of a text with blanks between, which may be quoted by '. */
static size_t split(char *text, char **word, size_t most)
{
    size_t n = 0;

    for (char *p = text; *p && n < most;) {
        char end = *p == '\'' ? '\'' : ' ';
        p += end == '\'';
        word[n++] = p;
        p += strcspn(p, end == ' ' ? " " : "'");
        while (*p && strchr(" '", *p))
            *p++ = '\0';
    }
    return n;
}

/* The request of the words that a script with this one call starts. */
static int read_call(const struct row *row, const struct ss_cluster *cluster, struct ss_request *r,
                     struct ss_error *err)
{
    char text[2048], script[4096], *word[128];
    struct ss_words words = {.file = strdup("jobs/run.sh")};
    struct ss_launch launch = {.script = "jobs/run.sh", .cluster = *cluster};

    snprintf(text, sizeof text, "%s %s", row->command, JOB);
    snprintf(script, sizeof script, "%s%s\n", row->batch, text);
    struct ss_call call = {SS_CALL_LAUNCHER, -1, 0, word};
    call.n = split(text, word, SS_ARRAY_LEN(word));
    const struct ss_calls calls = {.n = 1, .call = &call};
    int rc = ss_launch_words(&words, &launch, script, &calls, &r->notes, err);
    rc = rc ? rc : ss_request_add_place(r, words.file, err);
    for (size_t i = 0; i < words.n && !rc; i++)
        rc = ss_request_add(r, words.w[i].text, words.w[i].line, err);
    ss_words_free(&words);
    return rc;
}

static int has_note(const struct ss_notes *notes, const char *text)
{
    for (unsigned long i = 0; i < notes->n; i++)
        if (strstr(notes->text[i], text + (text[0] == '!')))
            return text[0] != '!';
    return text[0] == '!';
}

static void check(const struct row *row, const char *platform, int nodes_of_user)
{
    const struct ss_cluster cluster = {.platform = platform, .nodes = nodes_of_user};
    struct ss_scenario *s = NULL;
    struct ss_error err = {0};
    struct ss_request r;
    char nodes[16];
    int got[2] = {0, 0};

    ss_request_init(&r);
    snprintf(nodes, sizeof nodes, "%d", nodes_of_user);
    int rc = read_call(row, &cluster, &r, &err);
    rc = rc ? rc : ss_request_set(&r, "--platform", platform, &err);
    if (!rc && nodes_of_user)
        rc = ss_request_set(&r, "--nodes", nodes, &err);
    rc = rc ? rc : ss_scenario_build(&r, NULL, &s, &err);
    if (!rc) {
        got[0] = ss_platform_file_nodes(s->platform);
        got[1] = s->world_size / got[0];
    }
    int good =
        got[0] == row->nodes && got[1] == row->gpus &&
        (!row->said || (rc ? strstr(err.message, row->said) != NULL : has_note(&r.notes, row->said))) &&
        (!rc || (!strcmp(err.file, "jobs/run.sh") && err.line > 0));
    if (!good) {
        printf("\n%s%s\n  is %d nodes of %d, not %d of %d; %s:%d: %s\n", row->batch, row->command, got[0],
               got[1], row->nodes, row->gpus, err.file, err.line, err.message);
        for (unsigned long i = 0; i < r.notes.n; i++)
            printf("  note: %s\n", r.notes.text[i]);
    }
    CU_ASSERT_TRUE(good);
    ss_scenario_free(s);
    ss_request_free(&r);
}

/* A node of h100 has 8 GPUs. */
TEST(forms)
{
    static const struct row rows[] = {
        /* launchers of a node */
        {"", "torchrun --standalone --nproc_per_node 8", 1, 8, NULL},
        {"", "torchrun --standalone", 1, 8, "without --nproc-per-node"},
        {"", "torchrun --nproc_per_node gpu", 1, 8, NULL},
        {"", "torchrun --nproc-per-node=auto --nnodes=2", 2, 8, NULL},
        {"", "CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node gpu", 1, 4, NULL},
        {"", "env HIP_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node auto", 1, 2, NULL},
        {"", "env CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 8", 0, 0, "2 are visible"},
        {"", "torchrun --nproc_per_node cpu", 0, 0, "anything but GPUs"},
        {"", "python -m torch.distributed.run --nnodes 2 --nproc_per_node 8", 2, 8, NULL},
        {"", "python -m torch.distributed.launch --nproc_per_node=8", 1, 8, NULL},
        {"", "env PET_NNODES=2 PET_NPROC_PER_NODE=4 torchrun", 2, 4, NULL},
        {"", "python -u", 1, 1, "starts 1 process: 1 node of 1"},
        {"", "deepspeed", 1, 8, NULL},
        {"", "deepspeed --num_gpus 4", 1, 4, NULL},
        {"", "deepspeed --num_nodes 2 --num_gpus 8", 2, 8, NULL},
        {"", "deepspeed --include a:0,1@b:0,1", 2, 2, NULL},
        {"", "deepspeed --exclude b:0", 0, 0, "--exclude of deepspeed"},
        {"", "deepspeed --hostfile /none", 0, 0, "/none"},
        {"", "deepspeed --autotuning run", 0, 0, "--autotuning of deepspeed"},
        {"", "accelerate launch --num_processes 8", 1, 8, NULL},
        {"", "accelerate launch --num_processes=32 --num_machines=4", 4, 8, NULL},
        {"", "accelerate launch --num_processes 9 --num_machines 2", 0, 0, "do not divide"},
        {"", "accelerate launch --multi_gpu", 1, 8, NULL},
        {"", "accelerate launch --cpu", 0, 0, "--cpu of accelerate"},
        {"", "colossalai run --nproc_per_node 8 --host a,b", 2, 8, NULL},
        /* all processes: the platform's GPUs of a node make nodes of them */
        {"", "mpirun -np 64 python", 8, 8, "mpirun starts 64 processes: 8 nodes of 8"},
        {"", "mpirun -n 4 python", 1, 4, "1 node of 4"},
        {"", "/opt/mpi/bin/mpiexec -n 32 python", 4, 8, "mpiexec starts 32"},
        {"", "mpirun -np 12 python", 0, 0, "12 GPUs are no whole nodes of 8"},
        {"", "mpirun --npernode 8 -np 32 python", 4, 8, NULL},
        {"", "mpirun -np 30 -N 8 python", 0, 0, "not 8 on each node"},
        {"", "mpiexec -n 32 --ppn 4 python", 8, 4, NULL},
        {"", "mpirun -np 16 -H a:8,b:8 -x PATH python", 2, 8, NULL},
        {"", "mpirun -np 16 -H a:8,b:4,c:4 python", 0, 0, "unlike numbers"},
        {"", "mpirun -np 16 --hostfile /none python", 2, 8, "/none is not here"},
        {"", "mpirun -np 32 --map-by ppr:8:node:PE=4 python", 4, 8, NULL},
        {"", "horovodrun -np 16 -H a:8,b:8 python", 2, 8, NULL},
        {"", "horovodrun -np 16 --min-np 8 python", 0, 0, "grows and shrinks"},
        {"", "srun -n 32 python", 4, 8, "srun starts 32 processes: 4 nodes of 8"},
        {"", "srun -N4 -n32 python", 4, 8, NULL},
        {"", "srun -N 4 --ntasks-per-node=8 python", 4, 8, NULL},
        {"", "srun -N 4 -n 30 python", 0, 0, "as many on each of 4 nodes"},
        {"", "srun --ntasks-per-node=8 python", 1, 8, NULL},
        {"", "jsrun -n 4 -a 8 -g 8 -r 1 python", 4, 8, NULL},
        {"", "jsrun -n 32 -r 8 -a 1 -g 1 python", 4, 8, NULL},
        {"", "jsrun -p 16 python", 2, 8, "jsrun starts 16"},
        {"", "flux run -n 32 -N 4 -g 1 python", 4, 8, NULL},
        {"", "flux run -n 16 python", 2, 8, NULL},
        {"", "aprun -n 32 -N 8 python", 4, 8, NULL},
        {"", "bsub -n 32 -R 'span[ptile=8]' -gpu 'num=8:mode=shared' mpirun python", 4, 8, NULL},
        /* one of another */
        {"", "srun -N 4 --ntasks-per-node=1 torchrun --nnodes 4 --nproc_per_node 8", 4, 8, NULL},
        {"", "mpirun -np 4 --npernode 1 torchrun --nproc_per_node 8", 4, 8,
         "is not told that there are 4 nodes"},
        {"", "docker run --gpus 4 image torchrun --nproc_per_node gpu", 1, 4, NULL},
        {"", "docker run --gpus all image torchrun --nproc_per_node gpu", 1, 8, NULL},
        {"", "singularity exec --nv image.sif torchrun --nproc_per_node 8", 1, 8, NULL},
        {"", "kubectl exec -it pod -n space -- torchrun --nnodes 2 --nproc_per_node 8", 2, 8, NULL},
        {"", "ssh a torchrun --nnodes 2 --nproc_per_node 8", 2, 8, NULL},
        {"", "mpirun -np 16 numactl -N 0 python", 2, 8, NULL},
        {"", "launcher.py_of_mine --nodes 4 --gpus-per-node 8 python", 4, 8, NULL},
        {"", "torchrun --nnodes --nproc_per_node 8", 0, 0, "--nnodes needs a value"},
        {"", "srun -n $N python", 0, 0, "a number of at least 1"},
        /* abbreviated, or a letter off; what starts with the same letters and counts something else is left alone */
        {"", "torchrun --nproc_per_nod 8 --nnode 2", 2, 8, NULL},
        {"", "accelerate launch --num_process 16 --num_machine 2", 2, 8, NULL},
        {"", "torchrun --nodes 2 --nproc_per_node 8", 0, 0, "torchrun has no option --nodes"},
        {"", "srun --node=2 --ntasks-per-nodes 8 python", 0, 0, "srun has no option --ntasks-per-nodes"},
        {"", "srun -N 2 --ntasks-per-node 8 --ntasks-per-core 1 --cpus-per-task 4 python", 2, 8, NULL},
        {"", "mpirun --n 16 -npernode 8 python", 2, 8, NULL},
        {"", "mpirun -npp 16 python", 0, 0, "mpirun has no option -npp"},
        {"", "mpirun -np16 python", 0, 0, "mpirun has no option -np16"},
        {"", "mpirun -np 16 -npernodes 8 python", 0, 0, "mpirun has no option -npernodes"},
        {"", "mpirun -np 16 --hostfle /none python", 0, 0, "mpirun has no option --hostfle"},
        {"", "mpirun -np 16 -x NCCL_DEBUG -nw -am file -bind-to none -mca btl self python", 2, 8, NULL},
        {"", "mpiexec.hydra -n 16 -rr -genv A 1 -hosts a,b -wdir / -tv python", 2, 8, NULL},
        {"", "mpirun -pernode -np 4 torchrun --nnodes 4 --nproc_per_node 8", 4, 8, NULL},
        {"", "mpirun -pernode -np 4 python", 4, 1, NULL},
        {"", "horovodrun -nq 16 python", 0, 0, "horovodrun has no option -nq"},
        {"", "torchrun --nproc-per_nodes 8", 0, 0, "torchrun has no option --nproc-per_nodes"},
        {"", "torchrun --nnoeds 2 --nproc_per_node 8", 0, 0, "torchrun has no option --nnoeds"},
        {"", "torchrun --standallone --nproc_per_node 8", 0, 0, "torchrun has no option --standallone"},
        {"", "torchrun --nnodes 2 --nproc_per_node 8 --node_rank 0 --rdzv_id 1 --role r --tee 3", 2, 8, NULL},
        {"", "srun -N4x --ntasks-per-node=8 python", 0, 0, "-N4x: a number of at least 1"},
        {"", "srun -N4-4 --ntasks-per-node=8 -c4 -pgpu -J name python", 4, 8, NULL},
        {"", "srun -N 2 --ntaks-per-node 8 python", 0, 0, "srun has no option --ntaks-per-node"},
        {"", "deepspeed --num_gpsu 4", 0, 0, "deepspeed has no option --num_gpsu"},
        {"", "deepspeed --inculde a:0,1", 0, 0, "deepspeed has no option --inculde"},
        {"", "deepspeed --num_nodes 2 --num_gpus 8 --node_rank 0 --no_ssh --no_local_rank", 2, 8, NULL},
        {"", "accelerate launch --num_proceses 16", 0, 0, "accelerate has no option --num_proceses"},
        {"", "accelerate launch --config_flie x", 0, 0, "accelerate has no option --config_flie"},
        {"",
         "accelerate launch --num_processes 16 --num_machines 2 --machine_rank 0 "
         "--num_cpu_threads_per_process 4 "
         "--use_fsdp --fsdp_config_file f",
         2, 8, NULL},
        {"", "docker run --gpus all --cpus 8 image torchrun --nproc_per_node 8", 1, 8, NULL},
        /* lines for the scheduler */
        {"#SBATCH -n 32\n#SBATCH --ntasks-per-node=8\n", "srun python", 4, 8, NULL},
        {"#SBATCH --ntasks=32\n", "srun python", 4, 8, NULL},
        {"#SBATCH --nodes=4\n#SBATCH --ntaks-per-node=8\n", "srun python", 0, 0,
         "sbatch has no option --ntaks-per-node=8"},
        {"#SBATCH -J a --noeds 4\n", "srun python", 0, 0, "sbatch has no option --noeds"},
        {"#SBATCH --job-name=a -N 2 # --noeds\n#SBATCH --ntasks-per-node=8 --mem=0 --gpu-bind=none "
         "--ntasks-per-core 1 --no-requeue\n",
         "srun python", 2, 8, NULL},
        {"#SBATCH -N 4 --ntasks-per-node=8\n", "srun -n 16 python", 2, 8, NULL},
        {"#SBATCH -N 4 --gpus-per-node=8\n", "python", 4, 8, "as many processes as it is given"},
        {"#SBATCH -N 4 --gpus-per-node=8\n", "srun -n 64 python", 0, 0, "16 processes a node"},
        {"#SBATCH -N 2 --gpus-per-node=8\n", "srun -N 4 python", 0, 0,
         "srun takes 4 nodes, the script asks for 2"},
        {"#SBATCH -N 4 --ntasks-per-node=1 --gpus-per-node=8\n",
         "srun -N 2 torchrun --nnodes 2 --nproc_per_node 8", 2, 8, "of which srun and torchrun take 2"},
        {"#SBATCH -N 4 --gpus-per-node=8\n", "torchrun --nnodes 8 --nproc_per_node 8", 0, 0, "no world of 4"},
        {"#SBATCH -N 4 --gres=gpu:4\n", "srun torchrun --nnodes 4 --nproc_per_node 8", 0, 0,
         "asks for 4 GPUs"},
        {"#SBATCH -N 4 --gpus-per-node=8\n", "srun torchrun --nnodes 2:4 --nproc_per_node gpu", 4, 8, NULL},
        {"#SBATCH -N 4 --gpus-per-node=8\n", "mpirun -np 16 python", 2, 8, NULL},
        /* launchers that contradict each other, or start fewer nodes than the script is given */
        {"", "mpirun -np 2 torchrun --nnodes 4 --nproc_per_node 8", 0, 0,
         "told 4 nodes, mpirun (line 1) starts it on 2"},
        {"", "srun -N 2 torchrun --nnodes 4 --nproc_per_node 8", 0, 0,
         "told 4 nodes, srun (line 1) starts it on 2"},
        {"", "mpirun -np 32 torchrun --nnodes 4 --nproc_per_node 8", 0, 0, "starts it on 32"},
        {"", "srun -N 1 -n 1 -w host torchrun --nnodes 4 --node_rank 0 --nproc_per_node 8", 4, 8, NULL},
        {"", "srun -N 1 torchrun --nnodes 4 --nproc_per_node 8", 4, 8, "srun (line 1) starts it on 1"},
        {"", "torchrun --nnodes=1:2 --nproc_per_node 8", 1, 8, "takes 1 to 2 nodes: 1 is taken"},
        {"", "env WORLD_SIZE=16 python", 2, 8, "by WORLD_SIZE, starts 16 processes: 2 nodes of 8"},
        {"", "env WORLD_SIZE=16 torchrun --nproc_per_node 8", 1, 8, NULL},
        {"", "env WORLD_SIZE=16 mpirun -np 8 python", 1, 8, NULL},
        {"", "srun -N 3 torchrun --nnodes 2:4 --nproc_per_node 8", 3, 8, NULL},
        {"", "torchrun --standalone --nnodes 2 --nproc_per_node 8", 0, 0, "--standalone, which is one"},
        {"", "torchrun --standalone --nnodes 1 --nproc_per_node 8", 1, 8, NULL},
        {"#SBATCH -N 4 --gpus-per-node=8\n", "srun -N 2 torchrun --nnodes 4 --nproc_per_node 8", 0, 0,
         "told 4 nodes, srun (line 2) starts it on 2"},
        {"#SBATCH --nodes=4\n", "torchrun --standalone --nproc_per_node 8", 1, 8,
         "asks for 4 nodes, but torchrun is started once, without srun or mpirun"},
        {"#SBATCH --nodes=4\n", "torchrun --nproc-per-node 8", 1, 8, "the job is on 1"},
        {"#SBATCH --nodes=4\n", "deepspeed --num_gpus 8", 1, 8, "deepspeed is started once"},
        {"#PBS -l select=4:ngpus=8\n", "torchrun --nproc-per-node 8", 1, 8, "the job is on 1"},
        {"#SBATCH --nodes=4\n", "torchrun --nnodes 4 --nproc-per-node 8", 4, 8,
         "they are taken as started on each"},
        {"#SBATCH --nodes=4\n", "accelerate launch --num_processes 8", 1, 8, "accelerate is started once"},
        {"#SBATCH --nodes=4\n", "srun accelerate launch --num_processes 8", 0, 0,
         "told 1 node, the script asks for 4"},
        {"#SBATCH --nodes=4\n", "python", 4, 8,
         "a command without srun or mpirun is not told how many processes"},
        {"#SBATCH --nodes=4\n", "srun python", 4, 8, "srun is not told how many processes"},
        {"#SBATCH --nodes=4\n", "pdsh -w a,b torchrun --nproc-per-node 8", 4, 8, "not told that there are 4"},
        {"#SBATCH --nodes=4\n", "srun torchrun --standalone --nproc_per_node 8", 1, 8,
         "srun (line 2) starts torchrun on 4 nodes, each a job of its own"},
        {"#SBATCH --nodes=4\n", "srun torchrun --nproc_per_node 8", 4, 8, "not told that there are 4"},
        {"#SBATCH -N 2 --ntasks-per-node=8\n", "srun torchrun --nnodes 2 --nproc_per_node 8", 2, 8,
         "starts torchrun 8 times on each node"},
        {"#PBS -l select=4:ngpus=8:mpiprocs=8\n", "mpiexec python", 4, 8, NULL},
        {"#BSUB -n 32\n#BSUB -R \"span[ptile=8]\"\n#BSUB -gpu \"num=8\"\n", "mpirun python", 4, 8, NULL},
        {"#flux: -N 4 --gpus-per-node=8\n", "flux run -n 32 python", 4, 8, NULL},
        {"#flux: --nslots=32 -g 1 -t 2h --exclusive\n#flux: --nodes=4\n", "flux run -n 32 python", 4, 8,
         NULL},
        {"#$ -l rt_AF=4\n#$ -l h_rt=1:00:00\n#$ -cwd\n", "mpirun -np 32 python", 4, 8, NULL},
        {"#PBS -A x -q gpu -T openmpi\n#PBS -b 4\n", "mpirun -np 32 python", 4, 8, NULL},
        {"#PBS -A x -q gpu -T openmpi\n#PBS -b 2\n", "mpirun -np 32 python", 0, 0, "16 GPUs of nodes"},
        /* a letter off, and words that are like those that count and are others */
        {"#flux: --noeds=4\n", "flux run -n 32 python", 0, 0, "flux has no option --noeds=4"},
        {"#BSUB -nnode 4\n", "mpirun python", 0, 0, "bsub has no option -nnode"},
        {"#BSUB -n 32\n#BSUB -R \"span[ptiel=8]\"\n", "mpirun python", 0, 0, "no resource is ptiel"},
        {"#BSUB -n 32 -R 'span[ptile=8] rusage[mem=4G]' -gpu num=8:mode=shared:mps=no:gmem=80G -W 2:00 -N "
         "-B\n",
         "mpirun python", 4, 8, NULL},
        {"#PBS -l slect=4:ngpus=8\n", "mpiexec python", 0, 0, "no resource is slect"},
        {"#PBS -l select=4:ngpsu=8\n", "mpiexec python", 0, 0, "no resource is ngpsu"},
        {"#PBS -1 select=4:ngpus=8\n", "mpiexec python", 0, 0, "qsub has no option -1"},
        {"#PBS -N job's -j oe -V\n#PBS -l "
         "walltime=1:00:00,select=4:ncpus=64:mpiprocs=8:ngpus=8:mem=1tb:system=x\n",
         "mpiexec -n 32 python", 4, 8, NULL},
        {"#PBS -l select=4:gpu=8\n", "mpiexec -n 32 python", 4, 8, NULL},
        /* values of other options, resources of sites, comparisons and large letters are no misspelt resources */
        {"#PBS -v NODE=4,NGPU=8,MOED=x -l Select=4:NGPUS=8:smem=1:hmem=2:vnmem=3\n", "mpiexec -n 32 python",
         4, 8, NULL},
        {"#PBS -l select=4:NGPSU=8\n", "mpiexec python", 0, 0, "no resource is ngpsu"},
        {"#PBS -l select=4:ngpu=8\n", "mpiexec python", 0, 0, "no resource is ngpu"},
        {"#BSUB -env \"all,MODEE=train\" -n 32 -R \"span[ptile=8] select[hst==a && modle!=b]\"\n",
         "mpirun python", 4, 8, NULL},
        {"#BSUB -n 32 -R span[gtile=8] -R span[ptile=8] -R \"rusage[hpmem=4:cpuf=1]\" -gpu "
         "num=8:model=x:type=y\n",
         "mpirun python", 4, 8, NULL},
        {"", "qsub -l select=4:ngpsu=8 mpiexec python", 0, 0, "no resource is ngpsu"},
        {"", "bsub -n 32 '-Rspan[ptiel=8]' mpirun python", 0, 0, "no resource is ptiel"},
        /* Torque waits 30 seconds; a quote that is not closed ends with its line; no scheduler reads behind the first command */
        {"#PBS -b 30\n#PBS -l nodes=4:ppn=8:gpus=8\n", "mpiexec python", 4, 8, NULL},
        {"#PBS -l nodes=4:gpus=8\n#PBS -b 30\n", "mpiexec python", 4, 8, NULL},
        {"#SBATCH -J bob's\n#SBATCH --noeds=4\n", "srun python", 0, 0, "no option --noeds"},
        {"#SBATCH -N 4 --ntasks-per-node=8\nmodule load x\n#SBATCH -N 2\n", "srun python", 4, 8,
         "run.sh:3: sbatch reads no line #SBATCH behind the first command"},
        {"#PJM -L rscgrp=regular-a\n#PJM -L node=4\n#PJM --mpi proc=32\n", "mpiexec -n 32 -npernode 8 python",
         4, 8, NULL},
        {"#PJM -L \"node=2x2:torus,rscgrp=cx-large,elapse=1:00:00\"\n#PJM --mpi max-proc-per-node=4\n#PJM "
         "-j\n",
         "mpiexec python", 4, 4, NULL},
        {"#PJM --rsc-list gpu=4\n#PJM -g gz00\n#PJM --omp thread=2\n#PJM --fs /work\n",
         "torchrun --nproc_per_node 4", 1, 4, NULL},
        {"#PJM -L node=4\n", "torchrun --nproc_per_node 8", 1, 8,
         "asks for 4 nodes, but torchrun is started once"},
        {"#PJM -L nodes=4\n", "mpiexec python", 0, 0, "no resource is nodes"},
        {"#PJM --rsc-lst node=4\n", "mpiexec python", 0, 0, "pjsub has no option --rsc-lst"},
        {"#$ -l node_f=4\n", "mpirun -np 32 -npernode 8 python", 4, 8, NULL},
        {"",
         "bsub -n 2 -Rspan[ptile=1] -gpu num=8/task:mode=shared blaunch torchrun --nnodes 2 --nproc_per_node "
         "8",
         2, 8, NULL},
        {"#SBATCH -N 2\n#SBATCH -N 4 --gres=nvme:1,gpu:a1:8(S:0-1)\n", "srun python", 4, 8, NULL},
        {"#SBATCH -J torchrun -p deepspeed -N 4 --gpus-per-node=8\n",
         "srun -J torchrun -N 4 --ntasks-per-node 8 python", 4, 8, NULL},
        {"", "conda run -n deepspeed python", 1, 1, NULL},
        /* slots of LSF are processors, which only mpirun takes for processes; Flux reads its mark in large letters */
        {"#BSUB -n 8 -R span[hosts=1] -gpu num=2\n", "torchrun --nproc_per_node 2", 1, 2, "!asks for"},
        {"#BSUB -n 8 -gpu num=2\n", "python", 1, 2, "a process for each"},
        {"#BSUB -n 16 -R span[ptile=4] -gpu num=4\n", "mpirun python", 4, 4, NULL},
        {"# FLUX: -N 4\n#FLUX: --gpus-per-node=8\n", "flux run -n 32 python", 4, 8, NULL},
        {"", "torchrun tasks/main.py", 0, 0, "downstream tasks are not modelled"},
        {"", "deepspeed ../../tasks/main.py", 0, 0, "downstream tasks are not modelled"},
        {"", "deepspeed ./main.py --task RACE", 0, 0, "main.py: downstream tasks are not modelled"},
        {"", "deepspeed ../../tasks/eval_harness/evaluate.py", 0, 0,
         "generation and evaluation are not modelled"},
        {"", "torchrun --nproc_per_node 8 x/run_text_generation_server.py", 0, 0,
         "generation and evaluation are not"},
        {"", "bsub -N -n 32 -R 'span[ptile=8]' mpirun python", 4, 8, NULL},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check(&rows[i], "h100", 0);
}

/* Cards that the script asks for, and the platform does not have. */
TEST(cards)
{
    static const struct row rows[] = {
        {"#SBATCH -N 4 --gres=gpu:a100:8\n", "srun python", 4, 8, "--gres gpu:a100:8 asks for A100 cards"},
        {"#SBATCH -N 4 --gpus-per-node=v100:8 # old\n", "srun python", 4, 8, "asks for V100 cards"},
        {"#SBATCH -N 4 --gpus-per-node=8 -C \"a100|a40\"\n", "srun python", 4, 8, "-C a100|a40 names A40"},
        {"#SBATCH -N 4 --gpus-per-node=8 -pgpuA100x4\n", "srun python", 4, 8, "-p gpuA100x4 names A100"},
        {"#PBS -l select=4:ngpus=8:gpu_model=NVIDIA_H20\n", "mpiexec -n 32 python", 4, 8,
         "asks for H20 cards"},
        {"#BSUB -n 32\n#BSUB -gpu \"num=8:gmodel=NVIDIAA100_SXM4_80GB\"\n", "mpirun python", 4, 8,
         "asks for A100 cards"},
        {"", "srun -N 4 --gres=gpu:h200:8 python", 4, 8, "--gres gpu:h200:8 asks for H200 cards"},
        {"#SBATCH -N 4 --gres=gpu:h100:8 -J a100 -C 'a100|h100'\n#SBATCH -o logs/a100 -p h100_nodes\n",
         "srun python", 4, 8, "!asks for"},
        {"#SBATCH -N 4 --ntasks-per-node=8 -p nv-l4,ib-a16 -C '!a100'\n", "srun -p t4 python", 4, 8,
         "!cards"},
        {"#SBATCH -N 4 --ntasks-per-node=8 -p gpu-t4\n", "srun python", 4, 8, "-p gpu-t4 names T4"},
        {"#PBS -l select=4:ngpus=8:rack=a100:host=a100-7\n", "mpiexec -n 32 python", 4, 8, "!cards"},
        {"#BSUB -n 32 -g /a100/x -G a100 -R \"span[ptile=8] select[hname!=a100 && gmodel!=A100 && "
         "hname==a100-1]\"\n",
         "mpirun python", 4, 8, "!cards"},
        {"#SBATCH -N 4 --gres=gpu:nvidia_h100_80gb_hbm3:8 --nodelist=a100-[1-4]\n", "srun python", 4, 8,
         "!asks for"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check(&rows[i], "h100", 0);
    const struct row chip = {"#SBATCH -N 4 --gres=gpu:b200:4\n", "srun python", 4, 4, "!asks for"};
    check(&chip, "gb200", 0);
}

/* A node of gb200 has 4 GPUs. */
TEST(platform)
{
    static const struct row rows[] = {
        {"", "mpirun -np 64 python", 16, 4, "16 nodes of 4"},
        {"", "torchrun --nproc_per_node gpu --nnodes 2", 2, 4, NULL},
        {"#SBATCH --ntasks=32\n", "srun python", 8, 4, NULL},
        {"", "mpirun -np 6 python", 0, 0, "no whole nodes of 4"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check(&rows[i], "gb200", 0);
}

/* Which props variables of a launcher set, and which of them are told as not modelled. */
TEST(variables)
{
    static const struct {
        const char *command, *set, *told; /* NULL: none */
    } rows[] = {
        {"env NCCL_NVLS_ENABLE=0 torchrun", "ss.nccl.nvls=0", NULL},
        {"mpirun -np 8 -x NCCL_NVLS_ENABLE=0 python", "ss.nccl.nvls=0", NULL},
        {"srun -n 8 --export=ALL,NCCL_NVLS_ENABLE=0,NCCL_DEBUG=INFO python", "ss.nccl.nvls=0", NULL},
        {"srun -n 8 --export ALL,NCCL_ALGO=Ring python", "ss.nccl.rings=1", NULL},
        {"mpiexec.hydra -genv NCCL_ALGO ^NVLS,NVLSTree -n 8 python", "ss.nccl.nvls=0", NULL},
        {"env NCCL_ALGO=Ring,Tree torchrun", "ss.nccl.nvls=0", NULL},
        {"env NCCL_ALGO=Tree torchrun", NULL, "NCCL_ALGO=Tree"},
        {"env NCCL_ALGO=allreduce:ring torchrun", NULL, "NCCL_ALGO=allreduce:ring"},
        {"docker run -e NCCL_BUFFSIZE=8388608 image torchrun", "ss.nccl.buffer=8388608B", NULL},
        {"env NCCL_PROTO=Simple torchrun", "ss.nccl.net_simple=1", NULL},
        {"env TORCH_DISTRIBUTED_DEBUG=Detail torchrun", "ss.host.check=36us", NULL},
        {"env TORCH_DISTRIBUTED_DEBUG=INFO torchrun", NULL, NULL},
        {"env TORCH_DISTRIBUTED_DEBUG=2 torchrun", NULL, "not modelled: TORCH_DISTRIBUTED_DEBUG=2"},
        {"env NCCL_PROTO=LL NCCL_IB_DISABLE=1 NCCL_SHM_DISABLE=0 NCCL_IB_HCA=mlx5 torchrun", NULL,
         "not modelled: NCCL_PROTO=LL, NCCL_IB_DISABLE=1"},
        {"env CUDA_DEVICE_MAX_CONNECTIONS=1 NVTE_FLASH_ATTN=1 torchrun", NULL, NULL},
        {"env NVTE_ALLOW_NONDETERMINISTIC_ALGO=0 torchrun", "ss.attention.deterministic=1", NULL},
        {"env CUDA_DEVICE_MAX_CONNECTIONS=8 torchrun", NULL, "CUDA_DEVICE_MAX_CONNECTIONS=8"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        const struct row row = {"", rows[i].command, 0, 0, NULL};
        const struct ss_cluster cluster = {.platform = "h100"};
        struct ss_request r;
        int found = 0;
        ss_request_init(&r);
        CU_ASSERT_EQUAL(read_call(&row, &cluster, &r, NULL), SS_OK);
        for (size_t k = 0; k + 1 < r.n; k++)
            found |= !strcmp(r.word[k].text, "--set") &&
                     !strcmp(r.word[k + 1].text, rows[i].set ? rows[i].set : "");
        CU_ASSERT_EQUAL(found, rows[i].set != NULL);
        CU_ASSERT_EQUAL(has_note(&r.notes, "are obeyed"), rows[i].set != NULL);
        CU_ASSERT_EQUAL(has_note(&r.notes, rows[i].told ? rows[i].told : "not modelled"),
                        rows[i].told != NULL);
        ss_request_free(&r);
    }
}

/* --nodes of the user beats all of it. */
TEST(user)
{
    static const struct row rows[] = {
        {"", "mpirun -np 64 python", 2, 8, "--nodes 2 of the command line is obeyed"},
        {"", "mpirun -np 12 python", 2, 8, NULL},
        {"", "python", 2, 8, "--nodes 2"},
        {"", "torchrun --nnodes 4 --nproc_per_node 8", 2, 8, NULL},
        {"", "deepspeed --hostfile /none", 2, 8, NULL},
        {"#SBATCH -N 4 --gpus-per-node=8\n", "srun -n 64 python", 2, 8, NULL},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check(&rows[i], "h100", 2);
}

/* A file whose text is taken for flags: what it asks its scheduler for is told, by its first such line. */
TEST(unread)
{
    static const char *const rows[][2] = {
        {"#!/bin/bash\n\n#SBATCH -N 2\n#SBATCH --gres=gpu:8\nsrun python x.py\n",
         "run.sh:3: what #SBATCH asks for is not read"},
        {"#PBS -l select=2\n", "run.sh:1: what #PBS"},
        {"# flux: -N 2\n", "run.sh:1: what flux:"},
        {"# of Slurm: #SBATCH -N 2\n#SBATCHES\n--tp 2", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_notes notes = {0};
        ss_batch_unread(rows[i][0], "jobs/run.sh", &notes);
        CU_ASSERT_EQUAL(notes.n, rows[i][1] != NULL);
        CU_ASSERT_EQUAL(rows[i][1] && has_note(&notes, rows[i][1]), rows[i][1] != NULL);
        ss_notes_free(&notes);
    }
}
