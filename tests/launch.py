#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# usage: launch.py PROGRAM FOLDER [TEST...]
# `--launch`: jobs of launch scripts (FOLDER) as a shell starts them, and scripts that mean harm, which do none.
import ctypes
import errno
import json
import os
import pathlib
import platform
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
# The scripts, outside of this repository: a script sees all of the repository around it and around the working folder, which takes a fifth of a second.
AWAY = tempfile.TemporaryDirectory()
os.chmod(AWAY.name, 0o755)
FOLDER = shutil.copytree(sys.argv[2], os.path.join(AWAY.name, "launch"))
os.chdir(FOLDER)
HERE = ["--platform", "h100", "--engine", "native", "--json"]
FLAGS = ["--num-layers", "32", "--hidden-size", "4096", "--num-attention-heads", "32", "--seq-length", "2048",
         "--max-position-embeddings", "2048", "--micro-batch-size", "1", "--global-batch-size", "128", "--bf16", "--vocab-size", "50257"]
LAYOUT = ["--tensor-model-parallel-size", "4", "--pipeline-model-parallel-size", "4"]
LAUNCH = "torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS + LAYOUT) + "\n"


def run(*words, **more):
    return subprocess.run([PROGRAM, "run", *words], capture_output=True, text=True, **more)


def kept_apart():
    """Whether this machine gives namespaces at all."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as f:
        f.write(LAUNCH)
        f.flush()
        return "namespaces" not in run(*HERE, "--launch", f.name).stderr


@unittest.skipUnless(kept_apart(), "the kernel gives no namespaces")
class Launch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def script(self, text, name="job.sh"):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def result(self, *words):
        r = run(*HERE, *words)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        return json.loads(r.stdout)

    def refused(self, *words, status=3):
        r = run(*HERE[:-1], *words)
        self.assertEqual((r.returncode, r.stdout), (status, ""), r.stderr)
        self.assertEqual(r.stderr.count("\n"), 1, r.stderr)
        return r.stderr

    def same_as(self, got, *words):
        want = self.result("--nodes", "4", *FLAGS, *words)
        self.assertEqual(got["iteration_ms"], want["iteration_ms"])
        self.assertEqual(got["memory"]["peak_mib"], want["memory"]["peak_mib"])

    # ---- jobs ----

    def test_arrays_and_arguments(self):
        got = self.result("--launch", f"{FOLDER}/arrays.sh", "/data/ckpt", "vocab.json")
        self.same_as(got, "--tp", "4", "--pp", "4")
        got = self.result("--env", "NUM_NODES=2", "--launch", f"{FOLDER}/arrays.sh", "/data", "v.json")
        self.assertEqual(got["gpus"], 16)

    def test_slurm(self):
        got = self.result("--launch", f"{FOLDER}/slurm.sh")
        self.same_as(got, "--tp", "4", "--pp", "4")
        self.assertTrue(any("did nothing: module, /opt/conda/bin/activate" in n for n in got["warnings"]), got["warnings"])
        self.assertEqual(self.result("--nodes", "2", "--launch", f"{FOLDER}/slurm.sh")["gpus"], 16)

    def test_a_process_a_gpu(self):
        for runner in ("srun", "mpirun"):
            with self.subTest(runner=runner):
                self.same_as(self.result("--launch", f"{FOLDER}/tasks.sh", runner), "--tp", "4", "--pp", "4")

    def test_programs_that_run_others(self):
        """Values of theirs that are called as programs are ("env", "test") are none; other machines run a text."""
        for runner in ("conda run -n env --no-capture-output", "srun -p test", "docker run --name test -w /w/ image", "ray job submit -- "):
            self.same_as(self.result("--launch", self.script(runner + " " + LAUNCH)), *LAYOUT)
        for runner in ("docker exec -it megatron", "conda run -n axolotl", "uv run --extra deepspeed --no-sync", "kubectl exec swift --",
                       "sudo -u nemo", "srun --container-name nemo --mpi=pmix", "enroot start --rw nemo"):
            with self.subTest(runner=runner):
                self.same_as(self.result("--launch", self.script(runner + " " + LAUNCH)), *LAYOUT)
        self.same_as(self.result("--launch", self.script(
            "conda activate megatron\nmicromamba activate axolotl\ndocker stop nemo\ndocker pull deepspeed/deepspeed\nsudo pip install deepspeed\n"
            "srun pkill -f deepspeed\nkubectl delete pod swift\nuv pip install accelerate\n" + LAUNCH)), *LAYOUT)
        ssh = "ssh -o BatchMode=yes $host \"cd /w && " + LAUNCH.strip().replace("--nnodes 4", "--nnodes 4 --node_rank $rank") + "\""
        for remote in (ssh, ssh.replace("--node_rank ", "--node_rank="), "pdsh -w a,b '" + LAUNCH.strip() + "'",
                       "ssh $host bash -s <<END\n" + LAUNCH + "END\n"):
            self.same_as(self.result("--launch", self.script("rank=0\nfor host in a b; do " + remote + "\nrank=$((rank + 1)); done\n")), *LAYOUT)

    def test_pbs(self):
        """Chunks of PBS Pro add up, those of Torque have GPUs of their own; the file of hosts has a line a process."""
        counted = ("cd $PBS_O_WORKDIR\nN=$(sort -u $PBS_NODEFILE | wc -l)\n"
            + LAUNCH.replace("4 --nproc_per_node 8", "$N --nproc_per_node $(($(wc -l < $PBS_NODEFILE) / N))"))
        ranks = "mpirun --hostfile $PBS_NODEFILE -np $(cat $PBS_NODEFILE | wc -l) python pretrain_gpt.py " + " ".join(FLAGS + LAYOUT) + "\n"
        bare = "mpiexec python pretrain_gpt.py " + " ".join(FLAGS + LAYOUT) + "\n"
        for asked, does in (("-l select=4:ncpus=64:ngpus=8:mpiprocs=8,walltime=02:00:00", counted), ("-l nodes=4:ppn=8:gpus=8", ranks),
                            ("-lnodes=n0:gpus=8+n1:gpus=8+2:gpus=8", bare), ("-l walltime=2:00 -l select=1:ngpus=8+3:ngpus=8", bare)):
            with self.subTest(asked=asked):
                got = self.result("--launch", self.script(f"#!/bin/bash\n#PBS -N select=1\n#PBS {asked}\n{does}"))
                self.same_as(got, *LAYOUT)
                self.assertFalse(any("not set" in n for n in got["warnings"]), got["warnings"])
        path = self.script("#PBS -l select=4:ngpus=8\n" + bare)
        self.assertEqual(self.result("--nodes", "2", "--launch", path)["gpus"], 16)

    def test_programs_without_python(self):
        for program in ("--no-python megatron-train", "--no_python --max-restarts 0 ./train", "--no-python ./bind.sh python pretrain_gpt.py"):
            with self.subTest(program=program):
                self.same_as(self.result("--launch", self.script(LAUNCH.replace("pretrain_gpt.py", program))), *LAYOUT)

        path = self.script(LAUNCH.replace("torchrun --nnodes 4", "torchrun").replace("pretrain_gpt.py", "--no_python --standalone --max-restarts 0 ./train"))
        self.assertEqual(self.result("--launch", path, "--pp", "2")["gpus"], 8)

    def test_several_jobs(self):
        self.assertIn("starts 2 different jobs", self.refused("--launch", f"{FOLDER}/loop.sh"))
        self.same_as(self.result("--call", "2", "--launch", f"{FOLDER}/loop.sh"), "--tp", "4", "--pp", "4")
        self.assertIn("starts 2 jobs", self.refused("--call", "3", "--launch", f"{FOLDER}/loop.sh", status=2))

    def test_the_command_line_beats_the_script(self):
        got = self.result("--launch", f"{FOLDER}/arrays.sh", "/data", "v.json", "--pp", "2", "--tp", "4")
        self.same_as(got, "--tp", "4", "--pp", "2")

    def test_a_flag_names_its_line(self):
        path = self.script("# a job\n" + LAUNCH.replace("--bf16", "--bf16 --no-such-flag 3"))
        self.assertIn("job.sh:2: ", self.refused("--launch", path))

    def test_a_result_has_the_words(self):
        out = os.path.join(self.folder, "run.json")
        with open(out, "w") as f:
            json.dump(self.result("--launch", f"{FOLDER}/arrays.sh", "/data", "v.json"), f)
        self.same_as(self.result("--job", out), "--tp", "4", "--pp", "4")

    def test_what_is_not_set_is_named(self):
        path = self.script("echo after $SECONDS s\n" + LAUNCH.replace("--nnodes 4", "--nnodes $REPLICAS --master_addr $MASTER_ADDR"))
        said = self.refused("--launch", path)
        self.assertIn("REPLICAS", said)
        self.assertNotIn("SECONDS", said)
        self.same_as(self.result("--env", "REPLICAS=4", "--launch", path), *LAYOUT)

    def test_a_folder_of_one_user(self):
        os.chmod(self.folder, 0o700)
        self.script("LAYERS=32\n", "model.sh")
        path = self.script("source ./model.sh; . $(dirname $0)/model.sh\n" + LAUNCH.replace("--num-layers 32", "--num-layers $LAYERS"))
        os.chmod(path, 0o600)
        self.same_as(self.result("--launch", path), *LAYOUT)

    def test_a_configuration_that_the_script_writes(self):
        got = self.result("--launch", f"{FOLDER}/deepspeed.sh")
        want = self.result("--nodes", "2", "--gpus-per-node", "8", "--stack", "megatron-deepspeed-2022", "--fsdp", "full", "--set", "ss.zero.bucket_params=90000000",
            "--mbs", "4", "--gbs", "64", "--fp16", "--num-layers", "24", "--hidden-size", "2048", "--num-attention-heads", "16", "--seq", "1024",
            "--max-position-embeddings", "1024", "--vocab-size", "50257", "--checkpoint-activations")
        self.assertEqual(got["iteration_ms"], want["iteration_ms"])
        self.assertEqual(self.result("--env", "NODES=4", "--launch", f"{FOLDER}/deepspeed.sh")["gpus"], 32)
        with open(f"{FOLDER}/deepspeed.sh") as f:
            text = f.read()
        path = self.script(text.replace("mkdir -p $BASE_PATH\n", "")) # the folder of the user's own machine
        self.assertEqual(self.result("--launch", path)["iteration_ms"], want["iteration_ms"])
        line = 1 + text[:text.index('"stage": 3')].count("\n")
        path = self.script(text.replace('"stage": 3', '"stage": 2'))
        self.assertIn(f"job.sh:{line}: error: deepspeed.zero_optimization.stage: stage 2 here and 3", self.refused("--launch", path))

    def test_a_configuration_that_the_script_makes_of_another(self):
        text = ("""echo '{"train_batch_size": BATCH, "zero_optimization": {"stage": 1}}' | sed "s/BATCH/$BATCH/" > ds.json\n""" + LAUNCH.strip()
            + " --deepspeed --zero-stage 1 \\\n  --deepspeed_config ds.json\n")
        self.assertEqual(self.result("--env", "BATCH=128", "--launch", self.script(text))["iteration_ms"],
            self.result("--nodes", "4", *FLAGS, *LAYOUT, "--stack", "megatron-deepspeed-2022", "--use-distributed-optimizer")["iteration_ms"])
        self.assertIn("job.sh:3: error: deepspeed.train_batch_size: 64 here and 128", self.refused("--env", "BATCH=64", "--launch", self.script(text)))

    def test_errors(self):
        self.assertIn("cannot read", self.refused("--launch", os.path.join(self.folder, "none.sh"), status=3))
        said = self.refused("--launch", self.script("exit 1\n"))
        self.assertIn("called no launcher", said)
        self.assertNotIn("stepsim_folder", said)
        self.assertIn("is of --launch", self.refused("--env", "A=1", status=2))
        self.assertIn("its replicas by --nodes", self.refused("--launch", self.script("apiVersion: v1\nkind: PyTorchJob\n", "job.yaml")))
        said = self.refused("--launch", self.script("python mason.py --num_nodes 8 -- accelerate launch --num_processes 8 x.py " + " ".join(FLAGS) + "\n"))
        self.assertIn("job.sh:1: error: mason.py starts accelerate by options of its own", said)
        said = self.result("--launch", self.script("#SBATCH --gpus-per-node=8\n" + LAUNCH.replace("--nnodes 4", "--nnodes $SLURM_NNODES")), "--pp", "2")["warnings"]
        self.assertIn("job.sh: no line asks for nodes, of which Slurm then gives 1 (--nodes)", said)
        self.assertIn("NAME=VALUE", self.refused("--env", "A", "--launch", "x", status=2))
        path = self.script("--launch x.sh\n", "flags.args")
        self.assertIn("flags.args:1: ", self.refused("--job", path))

    def test_what_is_tested_for(self):
        path = self.script("P=pretrain_gpt.py\nif [ ! -f \"$P\" ]; then echo no $P; exit 1; fi\n[[ -d /data/tokens ]] || exit 2\n" + LAUNCH)
        got = self.result("--launch", path)
        self.same_as(got, *LAYOUT)
        for made in (os.path.join(os.getcwd(), "pretrain_gpt.py"), "/data/tokens/"):
            self.assertTrue(any("made empty: " + made in n for n in got["warnings"]), got["warnings"])
        path = self.script("[ -f done ] && exit 0\n" + LAUNCH)  # which does start a job: nothing is made
        self.assertFalse(any("made empty" in n for n in self.result("--launch", path)["warnings"]))
        self.assertIn("status 3", self.refused("--launch", self.script("[ -e a ]; [ -e b ]; exit 3\n")))

    def test_folder_of_the_cluster(self):
        """"cd" to a folder that only the cluster has, and paths below one, find the user's copy of it."""
        os.makedirs(os.path.join(self.folder, "away/examples"))
        self.script(LAUNCH, "away/examples/run.sh")
        for text in ("cd /home/me/Megatron\nbash examples/run.sh\n", "ROOT=/home/me/Megatron; sh $ROOT/examples/run.sh\n",
                     "cd /home/me/Megatron\nsource examples/run.sh\n"):
            with self.subTest(text=text):
                path = self.script(text, "away/job.sh")
                r = run(*HERE, "--launch", path, cwd=os.path.join(self.folder, "away"))
                got = json.loads(r.stdout)
                self.same_as(got, *LAYOUT)
                self.assertIn("job.sh: /home/me/Megatron is not here: ", " ".join(got["warnings"]))
        os.makedirs(os.path.join(self.folder, "away/data"))  # the folder where the command failed, and one below the copy that ends alike
        self.script("LAYERS=32\n", "away/data/set.sh")
        job = LAUNCH.replace("--num-layers 32", "--num-layers $LAYERS").replace("torchrun", "LAYERS=${LAYERS:-32}; torchrun")
        for text in ("cd /data/other\nls\ncd /home/me/Megatron\nbash examples/run.sh\ncd /data/last\n", "cd /home/me/Megatron/examples\nbash run.sh\n",
                     "cd /home/me/Megatron/examples/\nX=run\n. $X.sh\ncd /data/last\n",
                     "cd /home/me/Megatron/data\ncat set.sh\nLAYERS=$(sed s/LAYERS=// set.sh)\n" + job):
            with self.subTest(text=text):
                r = run(*HERE, "--launch", self.script(text, "away/job.sh"), cwd=os.path.join(self.folder, "away"))
                got = json.loads(r.stdout)
                self.same_as(got, *LAYOUT)
                self.assertIn("job.sh: /home/me/Megatron is not here: ", " ".join(got["warnings"]))
        self.assertIn("called no launcher", self.refused("--launch", self.script("cd /home/me/Megatron\nbash examples/none.sh\n")))
        self.assertIn("./none.sh: No such file", self.refused("--launch", self.script("srun -N 2 singularity exec x.sif ./none.sh\n")))
        for name in ("away/env", "env"):  # the working folder has the file, though the script looks elsewhere
            self.script("LAYERS=32\n", name)
        path = self.script("mkdir -p sub\n(cd sub; cat env)\n" + LAUNCH, "away/job.sh")
        self.assertNotIn("own folder", " ".join(json.loads(run(*HERE, "--launch", path, cwd=self.folder).stdout)["warnings"]))

    def test_submitted(self):
        """Lines of a file that is submitted count, and words beside it beat them; terminals that a script opens run what they are told."""
        job = "pretrain_gpt.py " + " ".join(FLAGS + ["--tensor-model-parallel-size", "2"])
        self.script(f"#SBATCH -N 4 --gpus-per-node=8 --ntasks-per-node=8\nsrun python {job}\n", "job.slurm")
        self.script(f"#PBS -l select=4:ngpus=8:mpiprocs=8\nmpiexec python {job}\n", "job.pbs")
        self.script(f'#BSUB -n 32\n#BSUB -R "span[ptile=8]"\nmpirun python {job}\n', "job.lsf")
        self.script(f"#PBS -l 'select=4:ngpus=8:mpiprocs=8' # -l select=2\ncd x\n#PBS -l select=2:ngpus=8\nmpiexec python {job}\n", "late.pbs")
        self.script(f'#BSUB -n 32 -J "a"\n#BSUB -gpu "num=8:mode=shared" -R "rusage[mem=4G] span[ptile=8]"\nmpirun python {job}\n', "quoted.lsf")
        self.script(f"#SBATCH -N 4 --gpus-per-node=8 --comment=\"old -N 2 run\" -J 'a # b -N 1' # -N 3\nsrun --ntasks-per-node=8 python {job}\n", "blanks.slurm")
        self.script(f"#PJM -L node=4\n#PJM --mpi proc=32 -N 'a --mpi proc=8'\nmpiexec -npernode 8 python {job}\n", "job.pjm")
        self.script("#SBATCH -N 1 --gres=gpu:a:8,nvme:1\nN=$(scontrol show hostnames $SLURM_JOB_NODELIST | wc -l)\n[ $N = $SLURM_JOB_NUM_NODES ] && "
                    f"srun torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE {job}\n", "env.slurm")
        self.script(f"#PBS -l select=4:ngpsu=8\nmpiexec python {job}\n", "bad.pbs")
        self.script(f"#BSUB -n 32 -R 'span[ptiel=8]'\nmpirun python {job}\n", "bad.lsf")
        for line, word in (("qsub bad.pbs", "ngpsu"), ("bsub < bad.lsf", "ptiel")):
            r = run(*HERE, "--launch", self.script(line + "\n"), cwd=self.folder)
            self.assertIn(f"no resource is {word}", r.stdout)
        for line, gpus in (("sbatch job.slurm", 32), ("sbatch -N 2 job.slurm", 16), ("qsub -A x job.pbs", 32), ("qsub -l select=2:ngpus=8 job.pbs", 16),
                           ("bsub < job.lsf", 32), ("bsub -n 16 < job.lsf", 16), (f"salloc -N 2 --gres=gpu:8 srun --ntasks-per-node=8 python {job}", 16),
                           (f"tmux new-session -d -s a 'torchrun --nproc_per_node 8 {job}'", 8), (f"screen -dmS a bash -c 'torchrun --nproc_per_node 4 {job}'", 4),
                           (f"tmux new -d -s a\ntmux send-keys -t a 'torchrun --nproc_per_node 4 {job}' C-m", 4),
                           (f"tmux has-session -t a || tmux new -ds a -x 9 \\; send-keys -t a 'N=4' Enter\ntmux send -t a 'torchrun --nproc_per_node $N' Space '{job}' ENTER", 4),
                           (f"tmux new-window -e N=4 'torchrun --nproc_per_node $N {job}' \\; split-window -l 9 top", 4),
                           (f"screen -dmS a\nscreen -S a -p 0 -X stuff 'N=4^M'\nscreen -S a -p 0 -X stuff \"torchrun --nproc_per_node \\$N {job}\\\\n\"", 4),
                           ("qsub late.pbs", 32), ("bsub < quoted.lsf", 32), ("sbatch blanks.slurm", 32), ("pjsub job.pjm", 32), ("sbatch -N 2 env.slurm", 16), ("sbatch --nodes=4 env.slurm", 32)):
            with self.subTest(line=line[:50]):
                r = run(*HERE, "--launch", self.script(line + "\n"), cwd=self.folder)
                self.assertEqual(json.loads(r.stdout).get("gpus"), gpus, r.stdout[:400])

    def test_hosts_of_other_schedulers(self):
        job = "python pretrain_gpt.py " + " ".join(FLAGS + LAYOUT) + "\n"
        for lines, does in (("#$ -l rt_AF=4\n", "[ $SGE_RESOURCE_TYPE = rt_AF ] && mpirun -np $((8 * NHOSTS)) -npernode 8 " + job),
                            ("#$ -l rt_AF=4\n#$ -cwd\n", "cat $SGE_JOB_HOSTLIST > h.$JOB_ID\nmpirun -np $((8 * NHOSTS)) -npernode 8 --hostfile h.$JOB_ID " + job),
                            ("#PJM -L node=4\n#PJM --mpi proc=32\n", "mpiexec -machinefile $PJM_O_NODEINF -n $PJM_MPI_PROC -npernode 8 " + job),
                            ("#PJM -L node=2x2\n", "N=$(wc -l < $PJM_O_NODEINF)\n[ $N = $PJM_NODE ] && mpiexec -n $((8 * N)) -npernode 8 " + job),
                            ("#BSUB -nnodes 4\n", "N=$(sort -u $LSB_DJOB_HOSTFILE | wc -l)\njsrun -n $N -r 1 -a 8 -g 8 " + job),
                            ("#BSUB -n 32\n#BSUB -R 'span[ptile=8]'\n",
                             "blaunch torchrun --nnodes $(sort -u $LSB_DJOB_HOSTFILE | wc -l) --nproc_per_node 8 " + job[7:])):
            with self.subTest(lines=lines):
                self.same_as(self.result("--launch", self.script("#!/bin/bash\n" + lines + does)), *LAYOUT)

    def gpus(self, text, *words):
        got = self.result("--launch", self.script(text), *words)
        return got["gpus"], " ".join(got["warnings"])

    def test_what_a_launcher_finds_in_the_script(self):
        """Variables that the script sets, files of hosts that it writes, runners of one program; a line each."""
        job = "pretrain_gpt.py " + " ".join(FLAGS + ["--tensor-model-parallel-size", "2"]) + "\n"
        hosts = "printf 'a slots=8\\nb slots=8\\nc slots=8\\nd slots=8\\n' > hf\n"
        for text, gpus in (("export CUDA_VISIBLE_DEVICES=0,1,2,3\ntorchrun --nproc_per_node gpu " + job, 4),
                           ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node auto " + job, 2),
                           ("#SBATCH --gpus-per-node=4\ntorchrun --nproc_per_node $(echo $CUDA_VISIBLE_DEVICES | tr , '\\n' | wc -l) " + job, 4),
                           ("env HIP_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node gpu " + job, 4),
                           (hosts + "deepspeed --hostfile hf " + job, 32), (hosts + "deepspeed --hostfile=hf " + job, 32),
                           (hosts + "mpirun --hostfile hf python " + job, 32), (hosts + "mpirun --hostfile hf -np 16 python " + job, 16),
                           ("for h in a b c d; do echo $h:8; done > nodes.txt\nhorovodrun -np 32 --hostfile nodes.txt python " + job, 32),
                           ("horovodrun -np 16 -H a:8,b:8 python " + job, 16),
                           ("kubectl exec -it pod -n torch -- torchrun --nnodes 2 --nproc_per_node 8 " + job, 16),
                           ("kubectl exec pod -- bash -c 'torchrun --nproc_per_node 8 " + job.strip() + "'\n", 8),
                           ("bsub -n 32 -R 'span[ptile=8]' mpirun python " + job, 32), ("bsub <<END\nmpirun -np 32 python " + job + "END\n", 32),
                           ("#SBATCH -n 32\n#SBATCH --ntasks-per-node=8\n[ $SLURM_NNODES = 4 ] && srun python " + job, 32),
                           ("torchrun --nproc_per_node $(nvidia-smi -L | wc -l) " + job, 8), ("torchrun --nproc_per_node $(ls /dev/nvidia[0-9]* | wc -l) " + job, 8)):
            with self.subTest(text=text[:60]):
                self.assertEqual(self.gpus(text)[0], gpus)
        gb200 = run(*HERE, "--platform", "gb200", "--launch", self.script("torchrun --nproc_per_node $(nvidia-smi -L | wc -l) " + job))
        self.assertEqual(json.loads(gb200.stdout)["gpus"], 4, gb200.stdout[:500] + gb200.stderr)

    def test_what_the_shell_said(self):
        """Errors of the shell and of tools are warnings, and stand behind a refusal; a status is told."""
        job = "torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS + ["--use-distributed-optimizer"])
        _, said = self.gpus("TP=$(cat /shared/tp.txt)\n" + job + " --tensor-model-parallel-size ${TP:-1}\n")
        self.assertIn("job.sh: the shell said: cat: /shared/tp.txt: No such file or directory", said)
        self.assertIn("job.sh ended with status 3", self.gpus(job + "\nexit 3\n")[1])
        _, said = self.gpus(job + "\n")
        self.assertNotIn("said", said)
        self.assertNotIn("status", said)
        said = self.refused("--launch", self.script("N=$(( /c / 8 ))\n" + job + " --num-experts $N\n"))
        self.assertIn("job.sh:2: error: --num-experts needs a value: job.sh: the shell said: job.sh: line 1: /c / 8 : syntax error", said)
        said = self.refused("--launch", self.script("module load x\n" + job + " --no-such-flag\n"))
        self.assertNotIn("did nothing", said)

    def test_values_that_fail_where_the_script_stops(self):
        """Under "set -e" no answer is made of a value that is not known, unless it decides nothing."""
        job = "torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS + ["--use-distributed-optimizer"])
        for text, line in (("set -e\nTP=$(cat /shared/tp.txt)\n", 2), ("set -euo pipefail\nexport A=1\nTP=`cat /shared/tp.txt`\n", 3),
                           ("set -eu\nf() {\n  X=$(cat x)\n}\nf\nTP=${X:-1}\n", 3), ("set -o errexit\nTP=$(( $(cat x) * 2 ))\n", 2),
                           ("set -e\nN=$(( 8 / 0 ))\nTP=${N:-1}\n", 2), ("#!/bin/bash -e\nTP=$(cat x)\n", 2), ("#!/usr/bin/env -S bash -eu\nTP=$(cat x)\n", 2),
                           ("set -eo pipefail\nTP=$(cat x | tr -d ' ')\n", 2), ("set -e\nread -r TP < x\n", 2), ("set -e\nread -r TP < <(cat x)\n", 2),
                           ("set -e\nmapfile -t A < x\nTP=${A[0]}\n", 2), ("set -e\n\nsource ./none.sh\n", 3),
                           ("set -e\nTP=0\n((TP++))\n", 3)):
            with self.subTest(text=text):
                said = self.refused("--launch", self.script(text + "ARGS=(\n  --tensor-model-parallel-size \"${TP:-1}\"\n)\n" + job + ' "${ARGS[@]}"\n'))
                self.assertIn(f"job.sh:{line}: error: ", said)
                self.assertIn(" failed, where the script stops (set -e)", said)
        for text in ("set -e\nTP=$(cat x) || true\n", "set -e\nif ! TP=$(cat x); then TP=2; fi\n", "set -e\nset +e\nTP=$(cat x)\n",
                     "set -e\nf() { local TP=$(cat x); }\nf\n", "set -e\nsource ./none.sh || true\nread -r A < x || TP=1\n", "#!/bin/bash --noediting\nTP=$(cat x)\n",
                     "set -e\n. /etc/profile.d/none.sh\nsource venv/bin/activate\n", "set -e\n. /shared/none.sh\n", "set -e\nsource $SETUP/start-prod\n", "set -euo pipefail\nX=$(echo a | grep b || true)\nread -r NAME < <(cat x)\n",
                     "source ./none.sh\nset -e\nwhile read -r TP; do :; done < <(echo 1)\n", "set -e\nX=$(ls /data/ckpt)\nL=$X/latest\nmkdir -p out/$L\nexport A=--x-$X\n"):
            with self.subTest(text=text):
                self.gpus(text + job + " --load $L --train-iters $X --tensor-model-parallel-size ${TP:-1}\n")

    def test_values_by_arithmetic_and_getopt(self):
        job = "torchrun --nproc_per_node 8 --nnodes $N pretrain_gpt.py " + " ".join(FLAGS + ["--use-distributed-optimizer"]) + " --tensor-model-parallel-size ${TP:-1}\n"
        self.assertIn("not set, hence empty: WORLD (", self.refused("--launch", self.script("G=8\nN=$((WORLD / G))\n" + job)))
        text = "N=1\nOPTS=$(getopt -o t: --long tp: -- \"$@\")\neval set -- \"$OPTS\"\nwhile [ $# -gt 0 ]; do case $1 in --tp) TP=$2; shift 2;; *) shift;; esac; done\n"
        want = self.result("--launch", self.script("N=1 TP=2\n" + job))["iteration_ms"]
        self.assertEqual(self.result("--launch", self.script(text + job), "--", "--tp", "2")["iteration_ms"], want)

    def test_what_a_branch_tests_for(self):
        """A file that is not there for the script is told, where the branch gives flags."""
        job = "torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS + ["--use-distributed-optimizer"]) + " --tensor-model-parallel-size ${TP:-1}\n"
        hidden = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, hidden)
        pathlib.Path(hidden, "fast").write_text("")
        for text, said in (("\nif [ -f /data/fast ]; then\n  TP=2\nfi\n", "job.sh:2: [ -f /data/fast ] decides flags; /data/fast is not there"),
                           ("[[ -e cfg/x && -d /data ]] && TP=2\n", "cfg/x is not there for the script"), ("test -d /data/y || TP=2\n", "/data/y is not there"),
                           ("TP=$([ -s /x/y ] && echo 4 || echo 2)\n", "job.sh:1: [ -s /x/y ] decides"), ("D=/data\nif [[ ! -r \"$D/z\" ]]; then TP=2; fi\n", "/data/z is not"),
                           (f"if [ -f {hidden}/fast ]; then TP=2; fi\n", "fast is here and the script does not see it (--let-in)")):
            with self.subTest(text=text):
                self.assertIn(said, self.gpus(text + job)[1])
        for text, said in (("if pip show flash_attn > /dev/null; then TP=4; fi\n", "job.sh:1: pip show flash_attn decides flags; it cannot tell here what it would on the cluster (status 0)"),
                           ("\npython -c 'import none' 2>/dev/null && TP=2\n", "job.sh:2: python -c import none decides flags; it cannot tell here what it would on the cluster (status 1)"),
                           ("command -v nosuch >/dev/null && TP=2\n", "command -v nosuch > /dev/null decides flags"), ("git diff --quiet || TP=1\n", "git diff --quiet decides flags"),
                           ("case $(hostname -s) in dgx*) TP=2;; *) TP=1;; esac\n", "(answer node0)"), ("H=$(hostname)\n[[ $H == dgx* ]] && TP=2\n", "H=$(hostname) decides flags"),
                           ("TP=$(cat tp.txt 2>/dev/null)\n", "job.sh:1: TP=$(cat tp.txt 2> /dev/null) failed, and decides flags: it is taken as empty")):
            with self.subTest(text=text):
                self.assertIn(said, self.gpus(text + job)[1])
        for text in ("git pull || exit 1\nmodule load cuda && export A=1\ncommand -v nosuch || true\nX=$(cat x 2>/dev/null)\nH=$(hostname)\n",
                     "if [ -f /data/fast ]; then\n  NAME=x\nfi\n", "[ -d logs ] || mkdir logs\n", "[ -f latest.txt ] && L=--load\n: $L\n", "echo 1 > x\n[ -f x ] && TP=1\n"):
            with self.subTest(text=text):
                self.assertNotIn("flags", self.gpus(text + job)[1])

    def test_programs_that_answer(self):
        job = "torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS + ["--use-distributed-optimizer"])
        for text in ("set -x\nmkdir -p a\n" + job + " 2>&1 | tee logs/deep/x.log || exit 1\n[ -f logs/deep/x.log ] || exit 1\n",
                     "which torchrun > /dev/null || exit 1\nX=$(printenv PATH)\n[ -n \"$X\" ] || exit 1\n" + job + "\n",
                     "if which nosuch; then exit 1; fi\nHOSTS=$(ds_ssh hostname)\n[ $HOSTS = node0 ] || exit 1\n" + job + "\n"):
            with self.subTest(text=text):
                gpus, said = self.gpus(text)
                self.assertEqual(gpus, 8)
                self.assertNotIn("said", said)
                self.assertNotIn("status", said)
        prepared = "python tools/preprocess_data.py --input a --output-prefix b --vocab-size 5 --tokenizer-type GPT2BPETokenizer --seq-length 8\n"
        self.assertEqual(self.gpus(prepared + job + "\n")[0], 8)
        image = "IMAGE=$PWD/train.sqsh\n[[ -f $IMAGE ]] || exit 1\nsrun -l --container-image $IMAGE --container-mounts /fsx:/fsx " + job + "\n"
        self.assertEqual(self.gpus(image)[0], 8)
        said = self.refused("--launch", self.script("CUDA_VISIBLE_DEVICES=0,1 swift sft --model x --output_dir y\n"))
        self.assertIn("arguments of ms-swift are not read", said)
        axolotl = "srun axolotl preprocess a.yaml\naxolotl train a.yaml --launcher torchrun -- --nproc_per_node 8 --nnodes 2\n"
        self.assertNotIn("different jobs", self.refused("--launch", self.script("printf 'base_model: Qwen/Qwen3-8B\\nadapter: lora\\n' > a.yaml\n" + axolotl)))
        self.assertIn("only: axolotl preprocess", self.refused("--launch", self.script("axolotl preprocess a.yaml\n")))
        msrun = "msrun --worker_num 16 --local_worker_num 8 --master_addr $MASTER_ADDR --join=True pretrain_gpt.py " + " ".join(FLAGS + LAYOUT)
        self.assertEqual(self.gpus(msrun + "\n")[0], 16)
        said = self.refused("--launch", self.script("set -x\necho no data >&2\nexit 1\n"))
        self.assertIn("it ended with status 1: no data", said)
        self.assertNotIn("BASH", said)

    def test_files_that_are_not_named(self):
        """Tokenizers are not read: an argument that is not given names none."""
        path = self.script("torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS + ["--use-distributed-optimizer"]) + " --vocab-file $1 --merge-file $2 --tokenizer-model $3\n")
        said = " ".join(self.result("--launch", path)["warnings"])
        self.assertIn("--merge-file has no value here; no file is named", said)
        self.assertIn("--tokenizer-model has no value here; no file is named", said)

    def test_arguments_that_are_missing(self):
        job = "torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS + ["--use-distributed-optimizer"])
        path = self.script("f() {\n  echo $3\n}\nawk '{print $4}' /dev/null\nTP=$1 # $5\n" + job + " --tensor-model-parallel-size $TP --context-parallel-size ${2}\n")
        said = self.refused("--launch", path)
        self.assertIn("not set, hence empty: $1, $2 (--env NAME=VALUE; arguments behind --launch FILE)", said)
        self.assertIn("hence empty: $2 (", self.refused("--launch", path, "2"))
        self.assertNotIn("hence empty", " ".join(self.result("--launch", path, "2", "1")["warnings"]))
        path = self.script("while [ $# -gt 0 ]; do echo $1; shift; done\necho ${2:-x}\n" + job + "\n")
        self.assertNotIn("hence empty", " ".join(self.result("--launch", path)["warnings"]))

    def test_programs_whose_output_is_used(self):
        job = "torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS + ["--use-distributed-optimizer"])
        for used in ('A=$(yq .a model.yaml | tr "\\n" " ")', "export A=`yq .a model.yaml`", "get() { yq .a m.yaml; }; A=$(get)",
                     "mapfile -t A < <(yq .a m.yaml)", "yq .a m.yaml > ds.json"):
            with self.subTest(used=used):
                said = self.refused("--launch", self.script("\n" + used + "\n" + job + " $A\n"))
                self.assertIn("job.sh:2: error: the script uses what yq writes, which is not here and wrote nothing: ", said)
        for unused in ("yq .a m.yaml", "yq .a m.yaml | tee log", "V=$(date); yq .a m.yaml | tee log", "V=$(git rev-parse HEAD)",
                       "V=$(date)\n{ yq --version; } 2>&1 | tee log.txt", "yq --version > log.txt"):
            with self.subTest(unused=unused):
                said = self.gpus(unused + "\n" + job + "\n")[1]
                self.assertIn("did nothing: " + ("git" if "git" in unused else "yq"), said)

    def test_what_programs_cannot_answer(self):
        """Values and branches by what a program would write that could not answer here, if they decide a flag."""
        job = "torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS + ["--use-distributed-optimizer"])
        tp = job + " --tensor-model-parallel-size ${TP:-1}\n"
        os.mkdir(os.path.join(self.folder, "conf"))
        self.script("A=1\nTP=$(curl x)\n", "conf/env.sh")
        self.script("git config tp\n", "get.sh")
        flag = "--tensor-model-parallel-size follows from what %s writes, which could not answer here: "
        for text, at, said in (("\nTP=$(python3 pick.py)\n" + tp, "job.sh:2", flag % "python3" + "TP=$(python3 pick.py)"),
                               ('TP=$(python -c "import none; print(4)" 2>/dev/null)\n' + tp, "job.sh:1", flag % "python"),
                               ("TP=$(python - <<END\nimport none\nEND\n)\n" + tp, "job.sh:", flag % "python"),
                               ('PY=python3\nTP=$("$PY" pick.py)\n' + tp, "job.sh:2", flag % "python3"),
                               ("get() { python3 pick.py; }\nTP=$(get)\n" + tp, "job.sh:2", flag % "python3"),
                               ("read -r TP PP < <(python3 pick.py)\n" + tp, "job.sh:1", flag % "python3"),
                               ("TP=$(bash get.sh)\n" + tp, "job.sh:1", flag % "git"), ("source conf/env.sh\n" + tp, "env.sh:2", flag % "curl"),
                               ("\nX=$(curl -s http://x | jq .tp)\nTP=$((X * 2))\n" + tp, "job.sh:2", flag % "curl"),
                               (job + " --tensor-model-parallel-size $(python3 pick.py | jq .tp)\n", "job.sh:1", flag % "python3" + "$(python3 pick.py"),
                               ("V=$(git rev-parse HEAD); W=$(aws s3 ls)\nARGS=(--seed 1)\nTP=$(git config tp)\n" + tp, "job.sh:3", flag % "git"),
                               ("for tp in $(python3 pick.py); do TP=$tp; done\n" + tp, "job.sh:1", flag % "python3"),
                               ("while read -r tp; do TP=$tp; done < <(python3 pick.py)\n" + tp, "job.sh:1", flag % "python3"),
                               ("python3 gen.py | tee args.txt\n" + job + " $(cat args.txt)\n", "job.sh:1", "the job follows from what python3 writes"),
                               ("python3 gen.py | xargs " + job + "\n", "job.sh:1", "the job follows from what python3 writes"),
                               ("export $(python3 env.py)\n" + tp, "job.sh:1", "the script uses what python3 writes"),
                               ("python3 env.py > env.sh\n. ./env.sh\n" + tp, "job.sh:1", "the script uses what python3 writes"),
                               ("python3 -m pip list | grep -q flash && TP=2\n" + tp, "job.sh:1", "the branch at line 1 follows from what python3 writes"),
                               ("\nTP=$(/opt/tools/tp --x)\n" + tp, "job.sh:2", flag % "/opt/tools/tp"),
                               ("python3 gen.py --out ds.json\n" + job + " --deepspeed --deepspeed_config ds.json\n", "job.sh:2", "recorded, not run: python3 gen.py"),
                               ("N=$(kubectl get nodes | wc -l)\n" + job.replace("torchrun", "torchrun --nnodes $N") + "\n", "job.sh:1", "--nnodes follows"),
                               ("python3 gen.py > ds.json\n" + job + " --deepspeed --deepspeed_config ds.json\n", "job.sh:1", "--deepspeed_config follows"),
                               ('\nB=$(git branch)\nif [ "$B" = main ]; then\n  TP=4\nfi\n' + tp, "job.sh:2", "the branch at line 3 follows from what git writes"),
                               ('[ "$(git branch)" = main ] && TP=4\n' + tp, "job.sh:1", "the branch at line 1 follows"),
                               ("V=$(nvcc --version)\ncase $V in\n  *12*) A='--fp8-format hybrid';;\nesac\n" + job + " $A\n", "job.sh:1", "the branch at line 2")):
            with self.subTest(text=text):
                got = self.refused("--launch", self.script(text))
                self.assertIn(at, got)
                self.assertIn(said, got)
        for text in (job + " --wandb-exp-name $(git rev-parse HEAD)\n", 'B=$(git branch)\nif [ "$B" = main ]; then\n  NAME=x\nfi\n' + job + "\n",
                     "IP=$(ip route)\n[ -n \"$IP\" ] || IP=localhost\n" + job.replace("torchrun", "torchrun --master_addr $IP") + "\n",
                     "V=$(python -c 'print(1)')\nmpirun -np 8 python pretrain_gpt.py " + job.split("gpt.py ")[1] + " | tee log\n"):
            with self.subTest(text=text):
                self.assertEqual(self.gpus(text)[0], 8)
        path = self.script("\nTP=$(python3 pick.py)\n" + tp)  # what the user gives instead, and what python answers
        self.assertIn("give --tensor-model-parallel-size on the command line", self.refused("--launch", path))
        given = self.result("--launch", path, "--tp", "2")["iteration_ms"]
        self.script("print(2)\n", "pick.py")
        self.assertEqual(self.result("--launch", path)["iteration_ms"], given)
        path = self.script("\nTP=$(git config tp | tr -d x)\n" + tp)
        self.assertIn("job.sh:2: error: " + flag % "git", self.refused("--trust", "--launch", path))

    def test_what_torch_says(self):
        path = self.script("GPUS=`python -c \"import torch; print(torch.cuda.device_count())\"`\n" + LAUNCH.replace("8 pretrain", "$GPUS pretrain"))
        self.same_as(self.result("--launch", path), *LAYOUT)
        self.assertEqual(self.result("--gpus-per-node", "4", "--launch", path, "--tp", "2")["gpus"], 16)

    def test_what_the_driver_says(self):
        """nvidia-smi and torch tell the GPUs of the platform; what they do not know is told where it decides."""
        job = "torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS + ["--use-distributed-optimizer"])
        want = [self.result("--launch", self.script(job + f" --tensor-model-parallel-size {tp}\n"))["iteration_ms"] for tp in (1, 2)]
        for h100, text in ((1, "N=$(nvidia-smi --query-gpu=name,memory.total --format=csv,noheader | head -1)\n[ \"$N\" = 'NVIDIA H100 80GB HBM3, 81559 MiB' ] && TP=2\n"),
                           (1, "nvidia-smi -L | grep -q 'GPU 7: NVIDIA H100 80GB HBM3' && TP=2\n"), (1, "nvidia-smi | grep -q '81559MiB' && TP=2\n"),
                           (1, "M=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits -i 0)\nif ((M < 90000)); then TP=2; fi\n"),
                           (1, "[ $(nvidia-smi --query-gpu compute_cap --format csv,noheader | sort -u) = 9.0 ] && TP=2\n"),
                           (0, "if nvidia-smi | grep -q A100; then TP=2; fi\n"),
                           (1, "TP=$(python -c 'import torch; p = torch.cuda.get_device_properties(0); print(1 + (\"H100\" in p.name and p.total_memory > 80e9))')\n")):
            with self.subTest(text=text):
                got = self.result("--launch", self.script(text + job + " --tensor-model-parallel-size ${TP:-1}\n"))
                self.assertEqual(got["iteration_ms"], want[h100])
        watts = "P=$(nvidia-smi --query-gpu=power.limit --format=csv,noheader,nounits | head -1)\n[ \"$P\" -gt 600 ] && TP=2\n"
        self.assertIn("the branch at line 2 follows from what nvidia-smi writes", self.refused("--launch", self.script(watts + job + " --tensor-model-parallel-size ${TP:-1}\n")))
        path = self.script("nvidia-smi -L | grep -q 'GB200' || exit 1\n" + job.replace("node 8", "node $(nvidia-smi --query-gpu=count --format=csv,noheader -i 0)") + "\n")
        self.assertEqual(self.result("--platform", "gb200", "--launch", path)["gpus"], 4)

    def test_files_of_hosts_against_the_launcher(self):
        job = "pretrain_gpt.py " + " ".join(FLAGS + ["--tensor-model-parallel-size", "2"]) + "\n"
        hosts = "printf 'a slots=8\\nb slots=8\\n' > hf\n"
        self.assertIn("deepspeed is told 4 nodes, the file of hosts hf has 2", self.refused("--launch", self.script(hosts + "deepspeed --num_nodes 4 --hostfile hf " + job)))
        gpus, said = self.gpus("#SBATCH --nodes=4\n" + hosts + "deepspeed --hostfile hf " + job)
        self.assertEqual(gpus, 16)
        self.assertIn("it asks for 4 nodes, of which deepspeed takes 2", said)

    def test_variables_of_libraries(self):
        flags = " ".join(FLAGS + ["--tensor-model-parallel-size", "8"]).replace("2048", "8192")  # large enough for the switch
        job = "torchrun --nproc_per_node 8 pretrain_gpt.py " + flags + "\n"
        want = self.result("--set", "ss.nccl.nvls=0", "--launch", self.script(job))["iteration_ms"]
        got = self.result("--launch", self.script("export NCCL_NVLS_ENABLE=0 NCCL_IB_DISABLE=1\n" + job))
        self.assertEqual(got["iteration_ms"], want)
        self.assertTrue(any(n.endswith("not modelled: NCCL_IB_DISABLE=1") for n in got["warnings"]), got["warnings"])
        plain = self.result("--launch", self.script("NCCL_NVLS_ENABLE=0\n" + job))["iteration_ms"]  # not exported
        self.assertNotEqual(plain, want)
        for text in ("#SBATCH -N 1 --export=\"ALL,A=b c,NCCL_NVLS_ENABLE=0\" # all\n" + job, "#SBATCH --export=ALL,NCCL_NVLS_ENABLE=0\n" + job, "echo NCCL_NVLS_ENABLE=0 > .deepspeed_env\n" + job.replace("torchrun --nproc_per_node 8", "deepspeed --num_gpus 8")):
            self.assertEqual(self.result("--launch", self.script(text))["iteration_ms"], want)
        path = self.script("export NCCL_NVLS_ENABLE=0\n" + job)
        self.assertEqual(self.result("--launch", path, "--set", "ss.nccl.nvls=1")["iteration_ms"], plain)

    def test_other_models(self):
        for name in ("pretrain_bert.py", "/opt/megatron/pretrain_t5.py"):
            self.assertIn("not modelled", self.refused("--launch", self.script(LAUNCH.replace("pretrain_gpt.py", name))))

    # ---- harm ----

    def survives(self, *lines, launched=True):
        """Runs the lines before a launcher. Nothing of the machine changes, and no process is left."""
        kept = self.script("kept\n", "kept")
        path = self.script("".join(line + "\n" for line in lines) + LAUNCH)
        before = self.tree()
        r = run(*HERE, "--launch", path)
        self.assertIn(r.returncode, {True: (0,), False: (3,), None: (0, 3)}[launched], r.stdout[:500] + r.stderr)
        self.assertEqual(self.tree(), before)
        self.assertEqual(pathlib.Path(kept).read_text(), "kept\n")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                self.assertNotIn(path.encode(), pathlib.Path(f"/proc/{pid}/cmdline").read_bytes(), pid)
            except OSError:
                pass

    def tree(self):
        return sorted((n, os.stat(os.path.join(self.folder, n)).st_mtime_ns) for n in os.listdir(self.folder))

    def test_rm_of_what_is_not_set(self):
        # tries every file of the system: where these are many or the machine is busy, the script's time ends before
        self.survives('rm -rf "$UNSET/"*', f'rm -rf "{self.folder}"', "rm -rf ~ .", launched=None)

    def test_absolute_paths(self):
        self.survives(f"echo x > {self.folder}/kept", f"/bin/rm -f {self.folder}/kept", f"cp /dev/null {self.folder}/new",
                      f"echo x > {self.folder}/../stepsim-escaped", f"perl -e 'unlink \"{self.folder}/kept\"'")
        self.assertFalse(os.path.exists(f"{self.folder}/../stepsim-escaped"))

    def test_the_whole_file_system(self):
        self.survives("/bin/rm -rf --no-preserve-root / 2>/dev/null", launched=None)

    def test_background_processes(self):
        self.survives("(while true; do :; done) &", "nohup setsid bash -c 'while true; do :; done' &", "disown")

    def test_fork_bomb(self):
        self.survives("f() { f | f & }; f", launched=None)  # the shell may find no room for the launcher either

    def test_processes_of_others_do_not_count(self):
        """More of this user than a script may have."""
        many = subprocess.Popen(["sh", "-c", "for i in $(seq 600); do tail -f /dev/null & done; echo; wait"], stdout=subprocess.PIPE,
                                start_new_session=True)
        try:
            self.assertEqual(many.stdout.read(1), b"\n")
            self.same_as(self.result("--launch", self.script(LAUNCH)), *LAYOUT)
        finally:
            os.killpg(many.pid, signal.SIGTERM)
            many.wait()
            many.stdout.close()

    def test_no_end(self):
        """The program ends a script after some time (docs/reference/launch.md)."""
        self.survives("perl -e 'sleep'", launched=False)

    def test_no_end_of_several_runs(self):
        """What it misses is made and it runs again, but not for longer."""
        self.survives("perl -e 'sleep 11'", "[ -f a ] || exit 1", "perl -e 'sleep 9'", "[ -f b ] || exit 1", launched=False)

    def test_endless_output(self):
        self.survives("perl -e 'print \"x\" x 1000 for 1 .. 100000'", "cat /dev/zero > fill")

    def test_no_network(self):
        self.survives("(echo > /dev/tcp/127.0.0.1/22) 2>/dev/null && exit 5", "curl http://127.0.0.1 | sh")

    def test_no_other_processes(self):
        self.survives("kill -9 -1", f"kill -9 {os.getpid()}")

    def test_programs_below_folders_of_the_machine(self):
        want = self.result("--launch", self.script(LAUNCH))["iteration_ms"]
        for folder in ("/usr/lib64/no-mpi/bin", "/usr/lib/no-mpi/deeper/bin", "/usr/share/no-mpi", "/usr/local/no-mpi/bin", "/opt/no-mpi"):
            path = self.script(f"perl -e 'print 1' > /dev/null || exit 1\n{folder}/{LAUNCH}")
            self.assertEqual(self.result("--launch", path)["iteration_ms"], want, folder)

    def test_a_user_without_rights(self):
        def become_nobody():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        path, nobody = self.script(LAUNCH), become_nobody if os.getuid() == 0 else None
        given = subprocess.run(["unshare", "-Umpnf", "true"], preexec_fn=nobody, capture_output=True).returncode == 0
        r = run(*HERE, "--launch", path, preexec_fn=nobody)
        self.assertEqual(r.returncode, 0 if given else 3, r.stdout[:500] + r.stderr)
        if given:
            self.assertEqual(json.loads(r.stdout)["iteration_ms"], self.result("--launch", path)["iteration_ms"])
        else:
            self.assertIn("namespaces", r.stdout + r.stderr)

    def test_no_rights(self):
        self.survives("[ $(id -u) != 0 ] || exit 5", "cat /etc/shadow && exit 6", "mkdir /proc/x && exit 7")

    def test_nothing_is_left_in_the_temporary_folder(self):
        room = os.path.join(self.folder, "tmp")
        os.mkdir(room)
        run(*HERE, "--launch", self.script(LAUNCH), env={**os.environ, "TMPDIR": room})
        self.assertEqual(os.listdir(room), [])


class Trusted(unittest.TestCase):
    def test_trust(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job.sh")
            with open(path, "w") as f:
                f.write(f"rm -rf {folder}\nset -e\nfalse\n" + LAUNCH)
            r = run(*HERE, "--trust", "--launch", path, env={**os.environ, "TMPDIR": folder})
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            self.assertEqual(os.listdir(folder), ["job.sh"])


# The number of unshare(2).
UNSHARE = {"x86_64": 272, "aarch64": 97}.get(platform.machine())


def without_namespaces():
    """From here on the kernel answers unshare(2) with EPERM, by a filter of four instructions."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = b"".join(struct.pack("=HBBI", *row) for row in (
        (0x20, 0, 0, 0),                    # the number of the call
        (0x15, 0, 1, UNSHARE),              # where it is another, the one behind the next
        (0x06, 0, 0, 0x00050000 | errno.EPERM),
        (0x06, 0, 0, 0x7fff0000)))          # is allowed
    rows = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", 4, ctypes.addressof(rows))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


@unittest.skipUnless(UNSHARE, "the number of unshare(2) is not known here")
class NoNamespaces(unittest.TestCase):
    def test_refused_or_trusted(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job.sh")
            with open(path, "w") as f:
                f.write(LAUNCH)
            r = run(*HERE[:-1], "--launch", path, preexec_fn=without_namespaces)
            self.assertEqual((r.returncode, r.stdout), (3, ""))
            self.assertIn("job.sh: the kernel gives no namespaces to keep a script in: Operation not permitted: ", r.stderr)
            self.assertIn("--trust", r.stderr)
            r = run(*HERE, "--trust", "--launch", path, preexec_fn=without_namespaces)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            r = subprocess.run([PROGRAM, "doctor"], capture_output=True, text=True, preexec_fn=without_namespaces)
            self.assertIn("no namespaces for this user (Operation not permitted): --launch needs --trust", " ".join(r.stdout.split()))


@unittest.skipUnless(kept_apart(), "the kernel gives no namespaces")
class Folders(unittest.TestCase):
    """Scripts that read and call one another across the folders of a repository, and what lies outside of it."""
    JOB = "torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(FLAGS) + " --tensor-model-parallel-size ${TP:-1} $EXTRA\n"

    def setUp(self):
        self.top = os.path.realpath(tempfile.mkdtemp())
        self.root, self.sub, self.away = (os.path.join(self.top, name) for name in ("root", "root/sub", "away"))
        os.chmod(self.top, 0o755)
        for folder in (".git", "sub", "other/deep"):
            os.makedirs(os.path.join(self.root, folder))
        os.mkdir(self.away)
        for name, text in (("root/common.sh", "TP=4\nEXTRA=--sequence-parallel\n"), ("root/.env", "TP=4 EXTRA=--sequence-parallel\n"),
                           ("root/top.sh", "source common.sh\n" + self.JOB), ("root/other/run.sh", ". $(dirname $0)/../common.sh\n" + self.JOB),
                           ("root/other/deep/chain.sh", 'source "$(dirname "${BASH_SOURCE[0]}")/../../common.sh"\n'),
                           ("root/sub/start.sh", self.JOB), ("away/common.sh", "TP=2\n"), ("away/.env", "TP=2\n")):
            self.write(name, text)
        os.chmod(os.path.join(self.root, "other/run.sh"), 0o755)

    def tearDown(self):
        shutil.rmtree(self.top)

    def write(self, name, text):
        path = os.path.join(self.top, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def job_of(self, *words, cwd=None):
        """The job as flags, with its notes."""
        r = subprocess.run([PROGRAM, "import", "--launch", *words], capture_output=True, text=True, cwd=cwd or self.sub)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        return r.stdout

    def test_scripts_that_read_one_another(self):
        here, root = "$(dirname $0)", self.root
        for text in ("source ../common.sh", ". ../common.sh", f"source {here}/../common.sh", "source ${BASH_SOURCE%/*}/../common.sh",
                     'source "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../common.sh"', f"source {root}/common.sh", "eval $(cat ../.env)",
                     "export $(xargs < ../.env)", "export $(cat ../.env | xargs)", "cd ..\nsource common.sh", f"cd {here}/.. && . ./common.sh",
                     "pushd ..\nsource common.sh\npopd", "source ../other/deep/chain.sh", "source <(cat ../common.sh)", f"R=$(realpath {here}/..)\n. $R/common.sh",
                     "[ -f ../common.sh ] && source ../common.sh", "for f in ../*.sh; do case $f in *common*) source $f;; esac; done",
                     "TP=$(sed -n s/^TP=//p ../common.sh) EXTRA=--sequence-parallel"):
            with self.subTest(text=text):
                got = self.job_of(self.write("root/sub/job.sh", text + "\n" + self.JOB))
                self.assertIn("--tensor-model-parallel-size 4 ", got)
                self.assertIn("--sequence-parallel ", got)
                self.assertNotIn("job.sh: ", got)

    def test_where_the_repository_begins(self):
        os.makedirs(os.path.join(self.root, ".git"), exist_ok=True)
        for text in ("R=$(git rev-parse --show-toplevel)\nsource $R/common.sh", "cd `git -C . rev-parse --show-toplevel`\n. common.sh",
                     "[ $(git rev-parse --is-inside-work-tree) = true ] && source ../common.sh", "H=$(git rev-parse --short HEAD)\nsource ../common.sh"):
            with self.subTest(text=text):
                self.assertIn("--tensor-model-parallel-size 4 ", self.job_of(self.write("root/sub/job.sh", text + "\n" + self.JOB)))

    def test_scripts_that_call_one_another(self):
        for text in ("bash ../other/run.sh", "../other/run.sh", "exec ../other/run.sh", "bash $(dirname $0)/../other/run.sh", "cd ../other && bash run.sh",
                     "cd .. && bash ./top.sh", "(cd ..; bash top.sh)", "source ../common.sh\nexport TP EXTRA\nbash start.sh", "srun -N 1 bash ../other/run.sh",
                     f"bash {self.root}/other/run.sh", ". ../common.sh\n. ./start.sh"):
            with self.subTest(text=text):
                self.assertIn("--tensor-model-parallel-size 4 ", self.job_of(self.write("root/sub/job.sh", text + "\n")))

    def test_the_working_folder_is_the_users(self):
        """From the root, from elsewhere, and by the script's own folder where only that has the file."""
        from_root = self.write("root/sub/from-root.sh", "bash ./top.sh\n")
        for words, cwd in (([from_root], self.root), (["sub/from-root.sh"], self.root)):
            got = self.job_of(*words, cwd=cwd)
            self.assertIn("--tensor-model-parallel-size 4 ", got)
            self.assertNotIn("own folder", got)
        by_name = self.write("root/sub/job.sh", "source $(dirname $0)/../common.sh\n" + self.JOB)
        for cwd in (self.root, self.away, self.top, "/"):
            got = self.job_of(by_name, cwd=cwd)
            self.assertIn("--tensor-model-parallel-size 4 ", got)
            self.assertNotIn("own folder", got)
        parent = self.write("root/sub/job.sh", "source ../common.sh\n" + self.JOB)
        for cwd in (self.root, self.top, "/"):
            got = self.job_of(parent, cwd=cwd)
            self.assertIn("--tensor-model-parallel-size 4 ", got)
            self.assertIn("job.sh: run in its own folder: the working folder has no ../common.sh", got)
        beside = self.write("root/job.sh", ". `pwd`/common.sh\n" + self.JOB)  # as one who is in the script's folder writes
        self.assertIn("own folder: the working folder has no common.sh", self.job_of(beside, cwd=self.sub))
        beside = self.write("root/job.sh", "export $(xargs < `pwd`/.env)\n" + self.JOB)
        self.assertIn("--tensor-model-parallel-size 4 ", self.job_of(beside, cwd=self.sub))
        for cwd, parallel in ((self.root, 4), (self.away, 2)):  # each has its own
            self.assertIn(f"--tensor-model-parallel-size {parallel} ", self.job_of(self.write("root/sub/job.sh", ". ./common.sh\n" + self.JOB), cwd=cwd))

    def test_what_is_not_let_in(self):
        far = self.write("away/common.sh", "TP=4\nEXTRA=--sequence-parallel\n")
        for text, line in ((f"\nsource {far}\n", 2), (f". {far}\n", 1), ("source ../../away/common.sh\n", 1), (f"eval $(cat {far})\n", 0), (f"export $(xargs < {far})\n", 0)):
            with self.subTest(text=text):
                path = self.write("root/sub/job.sh", text + self.JOB)
                r = run("--platform", "h100", "--launch", path, cwd=self.sub)
                self.assertEqual((r.returncode, r.stdout), (3, ""), r.stderr)
                where = f"job.sh:{line}: " if line else "job.sh: "
                self.assertIn(where + f"error: the script reads {far}, which this machine has and the script does not see: give --let-in {self.away};", r.stderr)
                for let_in in (self.away, far, "../../away"):
                    got = self.job_of(path, "--let-in", let_in)
                    self.assertIn("--tensor-model-parallel-size 4 ", got)
        path = self.write("root/sub/job.sh", f"source {self.top}/nowhere.sh\n" + self.JOB)
        self.assertIn("these programs did nothing: " + self.top, self.job_of(path))
        for words, said in ((["--let-in", "/no/such"], "--let-in /no/such: No such file or directory"), (["--let-in", "/"], "a file or folder below / is asked"),
                            (["--let-in", ""], "a file or folder is asked")):
            r = run("--platform", "h100", "--launch", path, *words)
            self.assertNotEqual(r.returncode, 0)
            self.assertIn(said, r.stderr)

    def test_folders_without_git(self):
        """Two levels above the script belong to it, and nothing further."""
        os.rmdir(os.path.join(self.root, ".git"))
        os.makedirs(os.path.join(self.sub, "a/b"))
        for folder, up, parallel in (("root/sub", "..", 4), ("root/sub", "../../away", 2), ("root/sub/a", "../..", 4), ("root/sub/a/b", "../../..", 0)):
            with self.subTest(folder=folder, up=up):
                path = self.write(folder + "/job.sh", f"source {up}/common.sh\n" + self.JOB)
                if parallel:
                    self.assertIn(f"--tensor-model-parallel-size {parallel} ", self.job_of(path, cwd=os.path.dirname(path)))
                else:
                    said = run("--platform", "h100", "--launch", path, cwd=os.path.dirname(path)).stderr
                    self.assertIn(f"job.sh:1: error: the script reads {self.root}/common.sh, which this machine has and the script does not see", said)

    def test_a_file_that_is_nowhere_stops_nothing(self):
        text = ("source nowhere || exit 4\nf() { source nowhere || exit 5; }\nf a\n[ \"$(. nowhere && echo ok)\" = ok ] || exit 6\n(exit 3); [ $? = 3 ] || exit 7\n"
                "g() { return 3; }; g; [ $? = 3 ] || exit 8\n. ../common.sh a b\n[ $# = 0 ] || exit 9\n")
        got = self.job_of(self.write("root/sub/job.sh", text + self.JOB))
        self.assertIn("--tensor-model-parallel-size 4 ", got)
        self.assertIn("job.sh: these programs did nothing: nowhere\n", got)
        self.assertNotIn("said", got)

    def test_a_configuration_that_the_script_writes_beside_itself(self):
        text = """cat > $C <<EOT
{ "train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 1}, "bf16": {"enabled": true} }
EOT
deepspeed --num_gpus 8 pretrain_gpt.py --deepspeed --deepspeed_config $C --tensor-model-parallel-size 2 --num-layers 24 --hidden-size 2048 \\
  --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 64 --bf16 --vocab-size 50257 \\
  --zero-stage 1 --no-pipeline-parallel
"""
        for name in ("$(cd $(dirname $0) && pwd)/ds.json", "$(dirname $0)/ds.json", "$(realpath $(dirname $0))/ds.json", "$(readlink -f $0).json", "ds.json", "./ds.json",
                     "../ds.json", "$PWD/ds.json", "/tmp/ds.json", "$(dirname $0)/../other/ds_config", "$(mktemp)"):
            for cwd in (self.sub, self.away):
                with self.subTest(name=name, cwd=cwd):
                    self.assertIn("--tensor-model-parallel-size 2 ", self.job_of(self.write("root/sub/job.sh", f"C={name}\n" + text), cwd=cwd))
        self.assertEqual(sorted(os.listdir(self.sub)), ["job.sh", "start.sh"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
