# `make quickstart`, `make sweep` and `make test` do all the set-up that they need. They want Python 3.11.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
RUN := $(VENV)/bin/python
# At each update on a CPU, XLA takes one large block and frees it. So set, glibc's malloc keeps blocks of up to 1 GiB, in
# large pages, and clears no page twice; larger ones go back to the system, since shapes of batches would not share them.
FAST := GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296

.PHONY: quickstart sweep bench-data bench-decode bench-train faults docs test test-slow lint format clean

quickstart: $(VENV)/.run
	$(FAST) $(RUN) -m experiments.train --gin_file=gin_configs/quickstart.gin --workdir=runs/quickstart
	$(FAST) $(RUN) -m experiments.evaluate --workdir=runs/quickstart --split=test

sweep: $(VENV)/.run
	$(FAST) $(RUN) -m experiments.sweep --gin_file=gin_configs/sweeps/builtin.gin --workdir=runs/sweep

# Text to batches at the size of WMT 2014: a quarter of an hour, and 5 GB of disk in the workdir.
bench-data: $(VENV)/.run
	$(RUN) -m benchmarks.data --workdir=runs/bench_data

# The search beside CTranslate2, with the same weights: the run of gin_configs/multi30k/tiny.gin must be there.
bench-decode: $(VENV)/.run
	$(FAST) $(RUN) -m benchmarks.decode --workdir=runs/bench_decode --run=runs/multi30k_tiny

# Training beside PyTorch's nn.Transformer, and without it, in turns: a quarter of an hour on an idle machine.
bench-train: $(VENV)/.run .venv-peers/.run
	$(FAST) $(RUN) -m benchmarks.train --workdir=runs/bench_train --peers --document=docs/performance.md

# Kills and other faults on a small run, 200 kills in all, a quarter of an hour: writes docs/reliability.md.
faults: $(VENV)/.dev
	PYTHONPATH=tests $(RUN) -m faults --kills=200 --times=4 --write

# Every figure and table of docs and README anew from finished runs, in two minutes: nothing is trained or measured.
docs: $(VENV)/.run
	$(RUN) -m experiments.docs

test: $(VENV)/.dev
	$(RUN) -m pytest -n 2 --dist loadfile

test-slow: $(VENV)/.dev $(VENV)/.cluster
	$(RUN) -m pytest -m slow

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(VENV)/.dev
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:
	rm -rf $(VENV) .venv-peers

# Made anew, not added to, when requirements change: what is no longer named does not stay behind.
$(VENV)/.run: requirements.txt
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

.venv-peers/.run: requirements-peers.txt
	rm -rf .venv-peers
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --disable-pip-version-check -r requirements-peers.txt
	touch $@

$(VENV)/.cluster: $(VENV)/.run requirements-cluster.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r requirements-cluster.txt
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@
