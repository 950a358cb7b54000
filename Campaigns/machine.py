"""A virtual machine with Debian's kernel, whose files are this machine's, and which forgets what it changed of them. For campaigns
that need what a kernel in a container lacks; run nothing here by itself."""
import glob
import os
import pathlib
import select
import shlex
import shutil
import signal
import subprocess
import time

import house as houses

# qemu's own virtiofsd is that of Debian 12.
VIRTIOFSD = "/usr/lib/qemu/virtiofsd"
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", VIRTIOFSD: "qemu-system-common", "busybox": "busybox-static", "modprobe": "kmod",
          "cpio": "cpio", "dpkg-deb": "dpkg", "apt-get": "apt"}
ALWAYS = ("virtio_pci", "virtio_blk", "virtiofs", "overlay")
MEMORY = 3000
INIT = """#!/bin/busybox sh
B=/bin/busybox
$B mount -t proc proc /proc; $B mount -t sysfs sys /sys; $B mount -t devtmpfs dev /dev
for module in MODULES; do $B modprobe $module || echo "machine: no $module"; done
$B mount -t virtiofs -o ro root /below; $B mount -t tmpfs tmpfs /changes; $B mkdir /changes/files /changes/work
$B mount -t overlay -o lowerdir=/below,upperdir=/changes/files,workdir=/changes/work overlay /root
for directory in proc sys dev; do $B mount --move /$directory /root/$directory; done
exec $B switch_root /root /bin/sh JOB
"""
JOB = """export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p /dev/shm /dev/pts
for directory in /dev/shm /run /tmp; do mount -t tmpfs tmpfs "$directory"; done
mount -t devpts devpts /dev/pts
ip link set lo up
cd / && COMMAND
echo "machine: status $?"
echo o > /proc/sysrq-trigger
sleep 60
"""


def why_not():
    """Why there can be no such machine; None if there can."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [package for program, package in NEEDED.items() if not shutil.which(program)]
    return f"needs the packages {' '.join(sorted(missing))} of Debian 12" if missing else None


class Machine:
    """Made in `directory`, which keeps the kernel. Its disk /dev/vda is empty."""

    def __init__(self, directory, modules=(), disk=2 << 30, accelerator="tcg"):
        self.directory, self.accelerator, self.disk = pathlib.Path(directory), accelerator, disk
        self.directory.mkdir(parents=True, exist_ok=True)
        self.kernel = self.fetch()
        self.modules = [*ALWAYS, *modules]

    def fetch(self):
        """Debian's kernel for virtual machines, unpacked, not installed."""
        place = self.directory / "kernel"
        if not glob.glob(f"{place}/boot/vmlinuz-*"):
            words = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], capture_output=True, text=True, check=True)
            name = next(word for word in words.stdout.split() if word.startswith("linux-image-") and word != "linux-image-cloud-amd64")
            for old in self.directory.glob("*.deb"):
                old.unlink()
            subprocess.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", name], cwd=self.directory, check=True)
            subprocess.run(["dpkg-deb", "-x", next(self.directory.glob("*.deb")), place], check=True)
        version = os.path.basename(glob.glob(f"{place}/lib/modules/*")[0])
        if not os.path.exists(f"{place}/lib/modules/{version}/modules.dep"):
            subprocess.run(["depmod", "-b", place, version], check=True)
        return place

    def pack(self, job):
        """The first files of the machine, which mount all others."""
        root, lib = self.directory / "first", pathlib.Path(glob.glob(f"{self.kernel}/lib/modules/*")[0])
        shutil.rmtree(root, ignore_errors=True)
        for name in ("bin", "proc", "sys", "dev", "below", "changes", "root"):
            (root / name).mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), root / "bin/busybox")
        for module in self.modules:
            told = subprocess.run(["modprobe", "-d", self.kernel, "-S", lib.name, "--show-depends", module], capture_output=True,
                                  text=True, check=True)
            for line in told.stdout.splitlines():
                if line.startswith("insmod "):
                    file = line.split()[1]
                    target = root / os.path.relpath(file, self.kernel)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, target)
        for file in lib.glob("modules.*"):
            shutil.copy(file, root / "lib/modules" / lib.name)
        subprocess.run(["depmod", "-b", root, lib.name], check=True)
        (root / "init").write_text(INIT.replace("MODULES", " ".join(self.modules)).replace("JOB", str(job)), encoding="utf-8")
        (root / "init").chmod(0o755)
        image = self.directory / "first.cpio"
        names = "\n".join(str(path.relative_to(root)) for path in root.rglob("*")) + "\n"
        with open(image, "wb") as out:
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], input=names.encode(), stdout=out, cwd=root, check=True)
        return image

    def run(self, command, seconds):
        """Runs a command in the machine as root, prints what it writes, and returns its status; None if it has not ended."""
        job, socket, disk = (self.directory / name for name in ("job", "files.socket", "disk"))
        job.write_text(JOB.replace("COMMAND", shlex.join(command)), encoding="utf-8")
        image = self.pack(job)
        for file in (socket, disk):
            file.unlink(missing_ok=True)
        with open(disk, "wb") as file:
            file.truncate(self.disk)
        with open(self.directory / "files.log", "wb") as log:
            files = subprocess.Popen(
                [VIRTIOFSD, f"--socket-path={socket}", "-o", "source=/,cache=always,sandbox=chroot,no_posix_lock"], stdout=log, stderr=log)
        machine, status = None, None
        try:
            waiting = houses.Waiting("virtiofsd")
            while not socket.exists():
                waiting.once()
            machine = subprocess.Popen(
                ["qemu-system-x86_64", "-accel", self.accelerator, "-smp", "2", "-cpu", "max", "-m", str(MEMORY),
                 "-object", f"memory-backend-memfd,id=memory,size={MEMORY}M,share=on", "-numa", "node,memdev=memory",
                 "-chardev", f"socket,id=files,path={socket}", "-device", "vhost-user-fs-pci,chardev=files,tag=root",
                 "-drive", f"file={disk},format=raw,if=virtio", "-display", "none", "-serial", "stdio", "-no-reboot",
                 "-kernel", glob.glob(f"{self.kernel}/boot/vmlinuz-*")[0], "-initrd", image,
                 "-append", "console=ttyS0 quiet panic=-1"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            for line in lines(machine.stdout, time.monotonic() + seconds):
                if line.startswith("machine: status "):
                    status = int(line.split()[-1])
                    break
                print(line, flush=True)
        finally:
            for process in filter(None, (machine, files)):
                process.send_signal(signal.SIGKILL)
                process.wait()
        return status


def lines(output, end):
    """The lines of an output as they come, until a moment."""
    text = b""
    while (left := end - time.monotonic()) > 0 and select.select([output], [], [], left)[0]:
        if not (data := os.read(output.fileno(), 65536)):
            return
        *whole, text = (text + data).split(b"\n")
        for line in whole:
            yield line.decode(errors="backslashreplace").rstrip("\r")
