# countersign: build, check, install.  `make help` lists targets and variables.

# A comma where one would separate arguments.
, := ,
VERSION  := 0.1.0
SAN      ?=
FUZZ     ?=
BUILD    ?= $(if $(FUZZ),build-fuzz,$(if $(SAN),build-san,build))
# One name for one object: a dependency file that says /here/build/x.o is none of build/x.o.
override BUILD := $(subst $(CURDIR)/,,$(BUILD))
PREFIX   ?= /usr/local
WERROR   ?= $(if $(CI),1,)
AR       ?= ar
PKGS     := libsodium libcrypto libssl libmicrohttpd jansson libcurl libsecret-1 zlib libzstd liblzma liblz4 libhs

ifneq ($(FUZZ),)
CC       := clang
endif

# What compiler and linker can do is probed once, not assumed.
probe_cc  = $(shell echo 'int main(void){return 0;}' | $(CC) -Werror $(1) -x c - -o /dev/null 2>/dev/null && echo '$(1)')
HARDEN   := $(foreach f,-fstack-protector-strong -fstack-clash-protection -fcf-protection=full -ftrivial-auto-var-init=zero,$(call probe_cc,$(f)))
HARDEN_L := -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings \
            -Wvla -Wformat=2 -Wundef -Wno-unused-parameter $(if $(WERROR),-Werror)
SANITIZE := $(if $(FUZZ),-fsanitize=fuzzer-no-link$(,)address$(,)undefined,$(if $(SAN),-fsanitize=address$(,)undefined))
OPT      := $(if $(SANITIZE),-O1 -g $(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer,-O2 -g -D_FORTIFY_SOURCE=2)

# The programs are linked as a whole: it buys back what hardening costs the
# evaluator.  Tests link the same objects in the ordinary way, which is quicker.
LTO      := $(if $(SANITIZE),,$(call probe_cc,-flto=2 -ffat-lto-objects))
ifneq ($(LTO),)
AR       := $(if $(filter ar,$(AR)),gcc-ar,$(AR))
endif

# Each file was warned of when it was compiled; what gcc guesses across files
# at link time is mostly wrong.
LINKFLAGS = $(filter-out -Werror,$(CFLAGS)) $(if $(LTO),-w)

CPPFLAGS += -Ibroker -I. -D_GNU_SOURCE -DCOUNTERSIGN_VERSION='"$(VERSION)"'
CFLAGS   += -std=c11 $(OPT) $(LTO) $(WARN) $(HARDEN) -fPIE -pthread -ffile-prefix-map='$(CURDIR)'=. \
            $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDFLAGS  += -pie -Wl,--as-needed $(HARDEN_L) -pthread $(SANITIZE)
# Debian's bzip2 says nothing to pkg-config.
LIBS      = $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lbz2

# One library a folder; the mains stand apart.  Order is the order of dependence.
MAINS    := broker/countersignd.c broker/countersign.c ledger/countersign-verify.c
sources   = $(filter-out $(MAINS),$(wildcard $(1)/*.c $(1)/*/*.c $(1)/*/*/*.c))
LIBNAMES := adapters broker policy ledger
ARCHIVES := $(foreach l,$(LIBNAMES),$(BUILD)/lib$(l).a)
BINS     := $(BUILD)/countersignd $(BUILD)/countersign $(BUILD)/countersign-verify

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help

all: $(BINS)

help:
	@sed -n 's/^## \{0,1\}//p' $(filter-out %.d,$(MAKEFILE_LIST))

## all (default)   the three programs, in build/
## check           everything that can be tested here; ends with N passed, N failed, N skipped
## unit, scenario, fuzz-replay   parts of it; check-one T=tests/scenario/NAME   one test
## demo            installs what is missing, builds, and walks the golden path
## bench, fuzz     the long measurements; the long fuzzing
## analyze         gcc -fanalyzer and clang's analyzer; a warning is a failure
## install         programs, manual pages, packs, documents, service unit: into DESTDIR/PREFIX
## uninstall       what install put there
## clean
##
## BUILD=dir       where everything built goes (default build)
## SAN=1           address and undefined-behaviour sanitizers (default dir build-san)
## FUZZ=1          clang's libFuzzer in the fuzz targets (default dir build-fuzz)
## WERROR=1        warnings are errors (the default in CI and make check)
## PREFIX=dir      where install puts things (default /usr/local); DESTDIR in front of it

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Files that are embedded come in through the assembler, whose symbols link-time
# optimisation does not see.
$(BUILD)/obj/policy/default_pack.o $(BUILD)/obj/broker/cli/run/node_proxy.o $(BUILD)/obj/ledger/report/html_style.o $(BUILD)/obj/ledger/export/vlc1_adapter.o: LTO :=

# The packs are embedded: the object changes with them.
$(BUILD)/obj/policy/default_pack.o: $(wildcard policy/packs/default/* policy/packs/default/.manifest)
$(BUILD)/obj/broker/cli/run/node_proxy.o: broker/cli/run/node_proxy.cjs
$(BUILD)/obj/ledger/report/html_style.o: ledger/report/report.css
$(BUILD)/obj/ledger/export/vlc1_adapter.o: ledger/export/vlc1-adapter.json

define library
$(BUILD)/lib$(1).a: $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,$(1)))
	@mkdir -p $$(@D) && rm -f $$@
	$(AR) rcsD $$@ $$^
endef
$(foreach l,$(LIBNAMES),$(eval $(call library,$(l))))

$(BUILD)/countersignd $(BUILD)/countersign: $(BUILD)/%: $(BUILD)/obj/broker/%.o $(ARCHIVES)
	$(CC) $(LINKFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The auditor's binary: only ledger/, no network code; static where the system
# has static libraries (Debian has, Fedora and Arch have not).
# The pattern library is written in C++: a static program needs its runtime,
# which a shared library brings along.
VERIFY_LIBS := -lsodium -lcrypto -ljansson -lz -lzstd -lbz2 -llzma -llz4 -lhs -ldl
VERIFY_STATIC_LIBS := $(VERIFY_LIBS) -lstdc++ -lm
STATIC   := $(if $(SANITIZE),,$(shell echo 'int main(void){return 0;}' | $(CC) -static-pie -x c - -o /dev/null $(VERIFY_STATIC_LIBS) 2>/dev/null && echo -static-pie))
# libcrypto's resolver comes along in a static link, and is never called.
QUIET_L  := $(if $(STATIC),$(call probe_cc,-Wl$(,)--no-warnings))
$(BUILD)/countersign-verify: $(BUILD)/obj/ledger/countersign-verify.o $(BUILD)/libledger.a
	$(CC) $(LINKFLAGS) $(if $(STATIC),$(STATIC) $(HARDEN_L) $(QUIET_L) -pthread,$(LDFLAGS)) -o $@ $^ $(if $(STATIC),$(VERIFY_STATIC_LIBS),$(VERIFY_LIBS))

include tests/tests.mk

# Two analyzers, each file on its own; a warning is a failure.  gcc 12 takes a
# string that is stored through a pointer for lost: leaks are left to clang and
# to the leak sanitizer.
ANALYZED := $(foreach l,$(LIBNAMES),$(wildcard $(l)/*.c $(l)/*/*.c $(l)/*/*/*.c))
ANALYZED_GCC   := $(ANALYZED:%.c=$(BUILD)/analyze/%.gcc)
ANALYZED_CLANG := $(ANALYZED:%.c=$(BUILD)/analyze/%.clang)

$(BUILD)/analyze/%.gcc: %.c
	@mkdir -p $(@D)
	gcc $(CPPFLAGS) $(CFLAGS) -O1 -fno-lto -U_FORTIFY_SOURCE -fanalyzer -Wno-analyzer-malloc-leak -Werror -MMD -MP -MF $@.d -MT $@ -c -o $@ $<

$(BUILD)/analyze/%.clang: %.c
	@mkdir -p $(@D)
	clang --analyze -Xclang -analyzer-werror -Xclang -analyzer-output=text $(CPPFLAGS) -std=c11 -pthread \
	    $(shell pkg-config --cflags $(PKGS) 2>/dev/null) -MMD -MP -MF $@.d -MT $@ -o $@.plist $<
	@touch $@

.PHONY: analyze analyze-gcc analyze-clang
analyze-gcc: $(ANALYZED_GCC)
analyze-clang: $(ANALYZED_CLANG)
analyze: analyze-gcc analyze-clang

# --- install ------------------------------------------------------------

D        := $(DESTDIR)$(PREFIX)
SHARE    := $(D)/share/countersign
DOC      := $(D)/share/doc/countersign
INSTALL  := install -p
MANPAGES  = $(wildcard $(LIBNAMES:%=%/*.[1-8]))
DOCS      = README.md LICENSE $(wildcard $(LIBNAMES:%=%/*.md) $(LIBNAMES:%=%/*/*.md))
DATA      = $(wildcard broker/api/openapi.json policy/packs/*.schema.json ledger/report/*.schema.json ledger/coverage/*.schema.json ledger/export/*.json)

.PHONY: install uninstall
install: all
	$(INSTALL) -D -m 0755 -t $(D)/bin $(BUILD)/countersign $(BUILD)/countersign-verify
	$(INSTALL) -D -m 0755 -t $(D)/libexec/countersign $(BUILD)/countersignd
	set -e; for m in $(MANPAGES); do $(INSTALL) -D -m 0644 -t $(D)/share/man/man$${m##*.} $$m; done
	set -e; for f in $(DOCS); do $(INSTALL) -D -m 0644 $$f $(DOC)/$$f; done
	set -e; for f in $(DATA); do $(INSTALL) -D -m 0644 -t $(SHARE) $$f; done
	set -e; for f in $$(cd policy && find packs -mindepth 2 -type f); do $(INSTALL) -D -m 0644 policy/$$f $(SHARE)/$$f; done
	set -e; for f in $$(cd contrib && find examples -type f); do $(INSTALL) -D -m 0644 contrib/$$f $(SHARE)/$$f; done
	$(INSTALL) -D -m 0644 -t $(D)/lib/sysusers.d contrib/systemd/countersign.conf
	$(INSTALL) -d -m 0755 $(D)/lib/systemd/system
	sed 's|@PREFIX@|$(PREFIX)|g' contrib/systemd/countersignd.service > $(D)/lib/systemd/system/countersignd.service
	chmod 0644 $(D)/lib/systemd/system/countersignd.service
	$(INSTALL) -D -m 0644 contrib/completion/countersign.bash $(D)/share/bash-completion/completions/countersign
	$(INSTALL) -D -m 0644 contrib/completion/countersign.zsh $(D)/share/zsh/site-functions/_countersign
	$(INSTALL) -D -m 0644 contrib/completion/countersign.fish $(D)/share/fish/vendor_completions.d/countersign.fish

# What install put there; homes, vaults and ledgers are nobody's but yours.
uninstall:
	rm -f $(D)/bin/countersign $(D)/bin/countersign-verify $(D)/lib/sysusers.d/countersign.conf \
	    $(D)/lib/systemd/system/countersignd.service $(D)/share/bash-completion/completions/countersign \
	    $(D)/share/zsh/site-functions/_countersign $(D)/share/fish/vendor_completions.d/countersign.fish
	for m in $(MANPAGES); do rm -f $(D)/share/man/man$${m##*.}/$${m##*/}; done
	rm -rf $(D)/libexec/countersign $(SHARE) $(DOC)

# What the whole is built with where make was called without -j: four jobs are quick,
# and little memory.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell n=$$(nproc 2> /dev/null || echo 2); [ $$n -le 4 ] || n=4; echo $$n))

.PHONY: clean demo
clean:
	rm -rf build build-san build-fuzz

demo:
	@contrib/bootstrap
	@$(MAKE) --no-print-directory -q all 2> /dev/null || echo 'building: some minutes, the first time'
	@$(MAKE) --no-print-directory -s $(JOBS) all
	@tests/demo/demo

-include $(shell find $(BUILD)/obj $(BUILD)/tests $(BUILD)/analyze -name '*.d' 2>/dev/null)
