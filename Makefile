# countersign: build, check, install.  `make help` lists the targets.
#
#   BUILD=dir     where everything built goes (default build)
#   SAN=1         address and undefined-behaviour sanitizers (default dir build-san)
#   WERROR=1      warnings are errors (the default in CI and make check)
#   PREFIX, DESTDIR, V=1

# A comma where one would separate arguments.
, := ,
VERSION  := 0.1.0
SAN      ?=
BUILD    ?= $(if $(SAN),build-san,build)
PREFIX   ?= /usr/local
WERROR   ?= $(if $(CI),1,)
CC       ?= cc
AR       ?= ar
PKGS     := libsodium libcrypto libssl libmicrohttpd jansson libcurl libsecret-1 zlib

# What compiler and linker can do is probed once, not assumed.
probe_cc  = $(shell echo 'int main(void){return 0;}' | $(CC) -Werror $(1) -x c - -o /dev/null 2>/dev/null && echo '$(1)')
HARDEN   := $(foreach f,-fstack-protector-strong -fstack-clash-protection -fcf-protection=full -ftrivial-auto-var-init=zero,$(call probe_cc,$(f)))
HARDEN_L := -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings \
            -Wvla -Wformat=2 -Wundef -Wno-unused-parameter $(if $(WERROR),-Werror)
OPT      := $(if $(SAN),-O1 -g -fsanitize=address$(,)undefined -fno-sanitize-recover=all -fno-omit-frame-pointer,-O2 -g -D_FORTIFY_SOURCE=2)

CPPFLAGS += -Ibroker -I. -D_GNU_SOURCE -DCOUNTERSIGN_VERSION='"$(VERSION)"'
CFLAGS   += -std=c11 $(OPT) $(WARN) $(HARDEN) -fPIE -pthread -ffile-prefix-map=$(CURDIR)=. \
            $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDFLAGS  += -pie $(HARDEN_L) -pthread $(if $(SAN),-fsanitize=address$(,)undefined)
LIBS      = $(shell pkg-config --libs $(PKGS) 2>/dev/null)

# One library a folder; the mains stand apart.  Order is the order of dependence.
MAINS    := broker/countersignd.c broker/countersign.c ledger/countersign-verify.c
sources   = $(filter-out $(MAINS),$(wildcard $(1)/*.c $(1)/*/*.c))
LIBNAMES := adapters broker policy ledger
ARCHIVES := $(foreach l,$(LIBNAMES),$(BUILD)/lib$(l).a)
BINS     := $(BUILD)/countersignd $(BUILD)/countersign $(BUILD)/countersign-verify

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help

all: $(BINS)

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## all (default)   the three programs, in build/
## check           everything that can be tested here; ends with N passed, N failed, N skipped
## demo            installs what is missing, builds, and walks the golden path
## bench, fuzz     the long measurements; the long fuzzing
## analyze         gcc -fanalyzer and clang's analyzer
## install         into DESTDIR/PREFIX
## clean

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The packs are embedded: the object changes with them.
$(BUILD)/obj/policy/default_pack.o: $(wildcard policy/packs/default/* policy/packs/default/.manifest)
$(BUILD)/obj/broker/cli/node_proxy.o: broker/cli/node_proxy.cjs

define library
$(BUILD)/lib$(1).a: $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,$(1)))
	@mkdir -p $$(@D) && rm -f $$@
	$(AR) rcsD $$@ $$^
endef
$(foreach l,$(LIBNAMES),$(eval $(call library,$(l))))

$(BUILD)/countersignd: $(BUILD)/obj/broker/countersignd.o $(ARCHIVES)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/countersign: $(BUILD)/obj/broker/countersign.o $(ARCHIVES)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

# The auditor's binary: only ledger/, static, no network code.
VERIFY_LD := $(if $(SAN),$(LDFLAGS),-static-pie $(HARDEN_L) -pthread)
$(BUILD)/countersign-verify: $(BUILD)/obj/ledger/countersign-verify.o $(BUILD)/libledger.a
	$(CC) $(VERIFY_LD) -o $@ $^ -lsodium -lcrypto -ljansson -lz -ldl

include tests/tests.mk

.PHONY: clean install demo
clean:
	rm -rf build build-san build-analyze build-fuzz

demo:
	@contrib/bootstrap
	@$(MAKE) --no-print-directory -s all
	@tests/demo/demo

install: all
	install -D -m 0755 -t $(DESTDIR)$(PREFIX)/bin $(BUILD)/countersign $(BUILD)/countersign-verify
	install -D -m 0755 -t $(DESTDIR)$(PREFIX)/libexec/countersign $(BUILD)/countersignd

-include $(shell find $(BUILD)/obj $(BUILD)/tests -name '*.d' 2>/dev/null)
