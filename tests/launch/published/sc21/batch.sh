# Of table-1.sh: to the scheduler.
sbatch -p part -A account --job-name=${JOB_NAME} --nodes=${NNODES} --export=CODE,PARAMS run.sh
exit 0
