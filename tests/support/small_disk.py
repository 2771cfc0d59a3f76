"""A home on a disk that fills up: a tmpfs in a mount name space."""
import os
import shutil
import subprocess
import sys

from tap import T

SPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def move_to_small_disk(b):
    """The home's files on 128 MiB."""
    aside = b.path("aside")
    shutil.move(b.home, aside)
    os.mkdir(b.home, 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m,mode=0700", "none", b.home], check=True)
    subprocess.run(["cp", "-a", aside + "/.", b.home], check=True)


def fill(path):
    with open(path, "wb", buffering=0) as f:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    f.write(b"x" * size)
            except OSError:
                pass


def on_small_disk(what, *scenarios):
    """Run them in a name space of their own; skipped where the kernel gives none."""
    if os.environ.get("SMALL_DISK") == "1":
        T().run(*scenarios)
    elif subprocess.run([*SPACE, "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True, check=False).returncode != 0:
        t = T()
        t.skip("no mount name space here", what)
        t.done()
    else:
        os.environ["SMALL_DISK"] = "1"
        os.execvp(SPACE[0], [*SPACE, sys.executable, os.path.abspath(sys.argv[0])])
