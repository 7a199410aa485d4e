"""Access regions to shared memory are made shorter here, in steps that are proven one by one."""
