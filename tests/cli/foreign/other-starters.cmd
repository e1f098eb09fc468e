for text in 'apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n' 'resources:\n  accelerators: H100:8\nrun: torchrun x.py\n' \
    'modules:\n  pre_trainer:\n    framework: megatron\n' 'model_name: a\nper_device_batch_size: 4\n' 'global_train_batch_size: 8\ndevice_train_microbatch_size: 8\n'; do
    printf "$text" > a.yaml
    $STEPSIM run --platform h100 --job a.yaml 2>&1
done
