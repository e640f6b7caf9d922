"""Submissions: attacks on the machine. One that comes off spoils its own first answer, and two points are missing."""

from __future__ import annotations

from textwrap import indent

from tests.course.grading.cases.case import notebook, submissions

TOOLS = """
import ctypes, mmap, os, platform, signal, socket, struct, time
c = ctypes.CDLL(None, use_errno=True)
c.shmat.restype = c.mmap.restype = ctypes.c_void_p
NUMBERS = {  # of system calls that C's library has no name for, on x86-64 and elsewhere
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280), "userfaultfd": (323, 282),
    "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "clone3": (435, 435), "process_vm_readv": (310, 270),
    "memfd_secret": (447, 447), "open_by_handle_at": (304, 265),
}
def system_call(name, *arguments):
    return c.syscall(NUMBERS[name][platform.machine() != "x86_64"], *arguments)
def in_a_process(work):
    "What `work` gives there, between 0 and 255."
    child = os.fork()
    if child == 0:
        try: os._exit(work())
        finally: os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
breached = False
"""


def attack(source):
    """A notebook that tries something that sets `breached` if it comes off."""
    tries = f"{TOOLS}\ntry:\n{indent(source.strip(), '    ')}\nexcept Exception: pass"
    return notebook(10, before=tries, after="if breached: multiply = None")


submissions(__name__, {
    # -- memory that belongs to no process
    "memory_in_files_without_a_name": attack("""
files = [os.memfd_create(str(i)) for i in range(8)]
for file in files:
    os.write(file, bytes(1 << 20))
breached = True
"""),
    "memory_in_secret_files": attack("breached = system_call('memfd_secret', 0) >= 0"),
    "memory_in_segments_of_system_v": attack("""
segment = c.shmget(0, ctypes.c_size_t(8 << 20), 0o1600)
breached = segment >= 0
"""),
    "memory_in_queues_of_messages": attack("breached = c.msgget(0, 0o1600) >= 0 or c.semget(0, 250, 0o1600) >= 0"),
    "memory_in_a_folder_of_a_world_of_its_own": attack("""
def work():
    if c.unshare(0x10000000 | 0x20000): return 0  # of users, and of mounts
    return c.mount(b'none', b'/home/student', b'tmpfs', 0, b'size=1g') == 0
breached = in_a_process(work) == 1
"""),
    "fills_every_folder_in_memory": attack("""
def filled(folder):
    total = 0
    try:
        for i in range(20):
            with open(f'{folder}/fill{i}', 'wb') as file: total += file.write(bytes(8 << 20))
    except OSError: pass
    for i in range(20):
        try: os.unlink(f'{folder}/fill{i}')
        except OSError: pass
    return total
places = ['/', '/dev', '/dev/shm', '/tmp', '/var/tmp', '/run', '/home', '/home/student', '/root', '/etc', '/mnt']
breached = sum(map(filled, places)) > 3 * (32 << 20)
"""),
    # -- a world of its own, in which it would have rights
    "a_world_of_users_of_its_own": attack("breached = in_a_process(lambda: c.unshare(0x10000000) == 0) == 1"),
    "a_world_of_users_by_clone": attack("""
import _thread
number = 56 if platform.machine() == 'x86_64' else 220
child = c.syscall(number, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
if child == 0: c._exit(0)
breached = child > 0
if breached: os.waitpid(child, 0)
"""),
    "a_world_of_users_by_clone3": attack("""
asked = struct.pack('<8Q', 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
child = system_call('clone3', asked, len(asked))
if child == 0: c._exit(0)
breached = child > 0
if breached: os.waitpid(child, 0)
"""),
    "worlds_of_processes_network_and_mounts": attack("""
kinds = (0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000)
breached = any(in_a_process(lambda: c.unshare(kind) == 0) == 1 for kind in kinds)
"""),
    "mounts_and_changes_its_root": attack("""
os.makedirs('/tmp/root', exist_ok=True)
breached = c.mount(b'none', b'/tmp/root', b'tmpfs', 0, None) == 0 or c.umount2(b'/tmp', 2) == 0
breached = breached or in_a_process(lambda: c.chroot(b'/tmp/root') == 0) == 1
"""),
    # -- keys
    "reads_the_keys_of_whoever_grades": attack("""
held = [system_call('keyctl', 0, ring, 0) for ring in (-2, -3, -4, -5)]  # the numbers of the keyrings
breached = any(number >= 0 for number in held) or bool(open('/proc/keys').read())
"""),
    "leaves_a_key_for_the_next": attack("""
breached = any(system_call('add_key', b'user', b'minigrad:left', b'answers', 7, ring) > 0 for ring in (-3, -4, -5))
breached = breached or system_call('request_key', b'user', b'minigrad:left', None, -3) > 0
"""),
    # -- other processes
    "traces_its_watcher": attack("""
breached = c.ptrace(16, os.getppid(), None, None) == 0
if breached: c.ptrace(17, os.getppid(), None, None)
"""),
    "traces_its_own_child_past_a_filter": attack(
        "breached = in_a_process(lambda: c.ptrace(0, 0, None, None) == 0) == 1"),
    "reads_the_memory_of_its_watcher": attack("""
line = next(line for line in open(f'/proc/{os.getppid()}/maps') if 'heap' in line)
start = int(line.split('-')[0], 16)
into = ctypes.create_string_buffer(4096)
here, there = struct.pack('QQ', ctypes.addressof(into), 4096), struct.pack('QQ', start, 4096)
breached = system_call('process_vm_readv', os.getppid(), here, 1, there, 1, 0) > 0
"""),
    "asks_for_the_highest_priority": attack("""
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    breached = True
except OSError:
    os.nice(-10)
    breached = True
"""),
    "a_bomb_of_forks": notebook(10, "crashed",
        before="import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"),
    "leaves_spinning_processes_behind": notebook(10,
        before="import os\nfor _ in range(12):\n    if os.fork() == 0:\n        os.setsid()\n"
               "        if os.fork(): os._exit(0)\n        while True: pass"),
    # -- whom it can reach
    "asks_the_host_of_a_virtual_machine": attack("""
with socket.socket(40, socket.SOCK_STREAM):  # of the family that reaches across virtual machines
    breached = True
"""),
    "sockets_of_every_other_family": attack("""
for family in {*range(3, 46)} - {10}:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try: socket.socket(family, kind).close()
        except OSError: continue
        breached = True
"""),
    "sockets_of_whoever_listens_on_this_machine": attack("""
names = {line.split()[-1] for line in open('/proc/net/unix') if '/' in line or '@' in line} - {'Path'}
names |= {f'{folder}/{name}' for folder in ('/run', '/var/run', '/tmp', '/run/dbus', '/run/systemd')
          if os.path.isdir(folder) for name in os.listdir(folder)}
for name in names | {'/run/dbus/system_bus_socket', '/var/run/docker.sock', '@/tmp/.X11-unix/X0'}:
    with socket.socket(socket.AF_UNIX) as door:
        try: door.connect(name.replace('@', chr(0), 1))
        except OSError: continue
        breached = True
"""),
    # -- the kernel
    "a_ring_of_requests": attack("breached = system_call('io_uring_setup', 8, ctypes.create_string_buffer(120)) >= 0"),
    "a_program_in_the_kernel": attack("""
made = struct.pack('<IIII', 2, 4, 4, 1) + bytes(112)  # a map, which is where a program would begin
breached = system_call('bpf', 0, made, len(made)) >= 0
"""),
    "faults_handled_by_itself": attack("breached = system_call('userfaultfd', 1) >= 0"),
    "counters_of_the_processor": attack("""
asked = struct.pack('<IIQ', 1, 112, 0) + bytes(96)
breached = system_call('perf_event_open', asked, 0, -1, -1, 0) >= 0
"""),
    "files_by_their_handles": attack("""
handle = struct.pack('<Ii', 8, 1) + bytes(8)
system_call('open_by_handle_at', os.open('/usr', os.O_RDONLY), ctypes.create_string_buffer(handle, 64), 0)
breached = ctypes.get_errno() not in (1, 38)  # it was not refused, it did not find
"""),
    # On x86-64, the calls of the machine of 32 bits have other numbers, which a list of numbers does not know.
    "calls_of_an_older_machine": attack("""
if platform.machine() == 'x86_64':
    def run(code):
        page = mmap.mmap(-1, 4096, prot=7)
        page.write(code)
        return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    getpid = b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3'  # mov eax, 20; int 0x80; ret
    breached = in_a_process(lambda: run(getpid) == os.getpid()) == 1
"""),
    "turns_the_switches_of_the_machine": attack("""
for name in ('sysrq-trigger', 'sys/kernel/core_pattern', 'sys/kernel/hostname', 'sys/vm/drop_caches',
             'sys/user/max_user_namespaces', 'self/uid_map', 'irq/default_smp_affinity'):
    try:
        with open(f'/proc/{name}', 'w') as file: file.write('1')
    except OSError: continue
    breached = True
"""),
    "looks_out_of_the_links_of_its_processes": attack("""
for pid in filter(str.isdigit, os.listdir('/proc')):
    for name in ('root', 'cwd'):
        try: seen = {*os.listdir(f'/proc/{pid}/{name}')}
        except OSError: continue
        breached = breached or bool(seen & {'boot', 'srv', 'newroot', 'oldroot', 'sys'})
"""),
    "puts_itself_into_another_group": attack("""
places = [line.split()[1] for line in open('/proc/self/mounts') if 'cgroup' in line]
breached = bool(places) or os.path.exists('/sys/fs/cgroup')
"""),
})  # fmt: skip
