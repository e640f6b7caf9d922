"""What a JupyterHub needs to know of the course; who may log in and how servers are started is said elsewhere.

The same file serves a hub of your own, which loads it, and The Littlest JupyterHub, which finds it in a folder:
docs/classroom.md has both.
"""

c = get_config()  # noqa: F821  # the hub's

# Run as the student, by whatever starts a student's server: root writes in no student's folder.
opened = """
export JUPYTER_RUNTIME_DIR="$HOME/.run"
minigrad copy "$HOME/course"
exec jupyterhub-singleuser "$@"
"""
c.Spawner.cmd = ["/bin/sh", "-c", opened, "course"]
c.Spawner.default_url = "/lab/tree/course/lessons/00_start_here.ipynb"
c.Spawner.environment = {"JUPYTER_PREFER_ENV_PATH": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
c.Spawner.args = [
    # By default whoever has an account on the machine can listen to what the kernels of the others print. The sockets
    # are files in .run instead, whose path is short, because that of a socket may have no more than 107 characters.
    "--KernelManager.transport=ipc",
    "--MappingKernelManager.cull_idle_timeout=3600",
    "--ServerApp.shutdown_no_activity_timeout=3600",
]

# Kept by spawners of systemd, Docker and Kubernetes; the one that JupyterHub begins with has no means to.
c.Spawner.mem_limit = "1G"
c.Spawner.cpu_limit = 1
