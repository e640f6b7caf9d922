"""What `mg.` is made of: functions, and the namespaces of PyTorch."""
