"""Data, models and answers of the cells, made by the program and kept in a folder by what made them.

    FOLDER/cells/KEY.json      a cell's result; KEY is a hash of its plan, of the data file, of the program's version
    FOLDER/models/KEY.*        models with what their training took; FOLDER/data: changed copies of data files
    FOLDER/locks               one process at a time makes a thing

What is there is never made again. Everything is written beside its place and moved there."""
import contextlib
import fcntl
import functools
import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

import changes


class Failed(Exception):
    """The program, or a peer, said no; the text is what it said."""


class Stopped(Exception):
    """An interrupt came."""


def digest(thing):
    return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()[:24]


@functools.lru_cache(maxsize=None)
def file_hash(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def write_json(path, thing):
    fd, part = tempfile.mkstemp(dir=os.path.dirname(path), suffix=".part")
    with os.fdopen(fd, "w") as f:
        json.dump(thing, f, indent=1, sort_keys=True)
        f.write("\n")
        f.flush()
        os.fsync(f.fileno())
    os.replace(part, path)


def resample(source, target, steps):
    """A copy of a model of the reference profile that samples in so many steps: one number of its configuration."""
    with open(source, "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        header, tensors = f.read(n), f.read()
    header, found = re.subn(rb'(\\"sampling\\":\{\\"list\\":\\"reference\\",\\"steps\\":)\d+', rb"\g<1>%d" % steps, header)
    if found != 1:
        raise Failed(f"{source}: no list of sampling steps of the reference profile")
    header = header.rstrip(b" ")
    header = header.ljust((len(header) + 63) // 64 * 64)
    with open(target, "wb") as f:
        f.write(len(header).to_bytes(8, "little") + header + tensors)


class Work:
    def __init__(self, program, folder, data, threads=1, peers=None):
        self.program, self.folder, self.source, self.threads, self.peers = program, folder, data, threads, peers
        self.stopped, self.children, self.mutex = False, set(), threading.Lock()
        for sub in ("cells", "models", "data", "locks"):
            os.makedirs(os.path.join(folder, sub), exist_ok=True)
        self.version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split("\n")[0]
        self.build = self.hash_of_build()

    def hash_of_build(self):
        """Of program and library, to tell cells of different builds of one version."""
        beside = os.path.join(os.path.dirname(os.path.realpath(self.program)), "..", "lib", "libllapdiff.so")
        files = [self.program, beside]
        return digest([file_hash(os.path.realpath(f)) for f in files if os.path.exists(f)])[:12]

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    @contextlib.contextmanager
    def lock(self, name):
        """Also between threads: each opens the file for itself."""
        with open(self.path("locks", name), "w") as f:
            while True:
                if self.stopped:
                    raise Stopped
                try:
                    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(.2)
            yield

    def stop(self):
        """The programs that run save what they have and end."""
        with self.mutex:
            self.stopped = True
            for pid in self.children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGINT)

    def run(self, command, output=None):
        """Processor and clock seconds that it took."""
        with tempfile.TemporaryFile() as err, open(output or os.devnull, "wb") as out:
            begin = time.monotonic()
            with self.mutex:
                if self.stopped:
                    raise Stopped
                child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
                self.children.add(child.pid)
            _, status, used = os.wait4(child.pid, 0)
            with self.mutex:
                self.children.discard(child.pid)
            child.returncode = os.waitstatus_to_exitcode(status)
            if self.stopped:
                raise Stopped
            if child.returncode != 0:
                err.seek(0)
                said = err.read().decode(errors="replace").strip().splitlines()
                raise Failed(f"{' '.join(command[:2])}: exit {child.returncode}: {said[-1] if said else 'nothing said'}")
            return {"cpu": round(used.ru_utime + used.ru_stime, 3), "wall": round(time.monotonic() - begin, 3)}

    def llapdiff(self, *args, output=None):
        return self.run([self.program, *args, "-q", "-j", str(self.threads)], output)

    # -------- data --------

    def file(self, name):
        return os.path.join(self.source, name + ".csv.gz")

    def data_hash(self, data):
        return file_hash(self.file(data["file"])) if "file" in data else "made"

    def data(self, data):
        """The path of the table that {"file" or "regime": ..., "changes": [...]} tells of."""
        if "file" in data and not data["changes"]:
            return self.file(data["file"])
        path = self.path("data", digest([data, self.data_hash(data)]) + ".csv.gz")
        with self.lock(os.path.basename(path)):
            if not os.path.exists(path):
                table = changes.read(self.file(data["file"])) if "file" in data else changes.regime(*data["regime"])
                changes.write(path, *changes.apply(*table, data["changes"]))
        return path

    # -------- models --------

    def model_key(self, m):
        return digest([m, self.data_hash(m["data"]), self.version])

    def model(self, m):
        """m: data, reading, train (options), seed, device. The path of the model, and what its training took."""
        stem = self.path("models", self.model_key(m))
        with self.lock(os.path.basename(stem)):
            if not os.path.exists(stem + ".json"):
                resumed = os.path.exists(stem + ".safetensors.state")
                took = self.llapdiff("train", self.data(m["data"]), *m["reading"], *m["train"], "--seed", str(m["seed"]),
                                     "--device", m["device"], "-o", stem + ".safetensors", *["--resume"] * resumed)
                # Of a training that was interrupted these are the seconds of its last part.
                write_json(stem + ".json", {"model": m, "seconds": took, "resumed": resumed, "build": self.build})
        with open(stem + ".json") as f:
            kept = json.load(f)
        return stem + ".safetensors", None if kept["resumed"] else kept["seconds"]
