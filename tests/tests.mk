# Tests: units (cmocka), fuzz targets replaying their corpus, scenarios that
# drive the real binaries.  Everything speaks TAP; tests/run counts it.
#
#   make check            all of it, with sanitizers and analyzers
#   make unit scenario    parts of it
#   make check-one T=tests/scenario/x   one test, its output shown
#   make late T=tests/scenario/x        the same while every call may take longer

NO_LTO    := $(if $(LTO),-fno-lto)
UNIT_BINS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
FUZZ_SRCS := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BINS := $(patsubst %.c,$(BUILD)/%,$(FUZZ_SRCS))
TOOL_BINS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/tools/*.c))
BENCH_BINS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
BENCHES := $(filter-out %.c %.h %.py %.md $(patsubst %/,%,$(wildcard tests/bench/*/)),$(wildcard tests/bench/*)) $(BENCH_BINS)
# What takes longest begins first.
BUILD_TESTS := $(sort $(wildcard tests/build/*))
SCENARIOS := $(sort $(filter-out %.md %.py,$(wildcard tests/scenario/* tests/clients/* tests/fault/*)))

# Test programs share tests/support/*.c, and link every library; fuzz targets take of
# it only what reads their input.
SUPPORT := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/support/*.c))
FUZZ_SUPPORT := $(BUILD)/obj/tests/support/rego_term.o

$(BUILD)/tests/unit/%: tests/unit/%.c $(SUPPORT) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itests/support $(CFLAGS) $(NO_LTO) $(LDFLAGS) -MMD -MP -o $@ $< $(SUPPORT) $(ARCHIVES) $(LIBS) -lcmocka

# A fuzz target: with a main of its own that replays files and mutations of
# them, or (FUZZ=1) with libFuzzer's.
FUZZ_MAIN := $(if $(FUZZ),-fsanitize=fuzzer,tests/fuzz/replay.c)
$(BUILD)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/replay.c $(FUZZ_SUPPORT) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itests/support $(CFLAGS) $(NO_LTO) $(LDFLAGS) -MMD -MP -o $@ $< $(FUZZ_MAIN) $(FUZZ_SUPPORT) $(ARCHIVES) $(LIBS)

$(BUILD)/tests/tools/% $(BUILD)/tests/bench/%: tests/%.c
$(BUILD)/tests/tools/%: tests/tools/%.c $(SUPPORT) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itests/support $(CFLAGS) $(NO_LTO) $(LDFLAGS) -MMD -MP -o $@ $< $(SUPPORT) $(ARCHIVES) $(LIBS)
# Measured is what is shipped: linked as a whole, as the programs are.
$(BUILD)/tests/bench/%: tests/bench/%.c $(SUPPORT) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itests/support $(LINKFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(SUPPORT) $(ARCHIVES) $(LIBS)

# Where people look for it.
$(BUILD)/tests/policy_conformance: $(BUILD)/tests/tools/policy_conformance
	ln -f $< $@

# See late.c.
$(BUILD)/tests/late.so: tests/late.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(NO_LTO) $(filter-out -pie,$(LDFLAGS)) -fPIC -shared -o $@ $< -ldl

.PHONY: check fuzz fuzz-bins bench unit scenario fuzz-replay check-one late test-bins
test-bins: $(BINS) $(UNIT_BINS) $(FUZZ_BINS) $(TOOL_BINS) $(BUILD)/tests/policy_conformance $(BUILD)/tests/late.so

unit: $(UNIT_BINS)
	tests/run --build $(BUILD) $(UNIT_BINS)

fuzz-replay: $(FUZZ_BINS)
	tests/run --build $(BUILD) $(FUZZ_BINS)

scenario: $(BINS) $(TOOL_BINS)
	tests/run --build $(BUILD) $(SCENARIOS)

check-one: test-bins
	tests/run --build $(BUILD) --verbose $(T)

late: test-bins
	tests/run --build $(BUILD) --verbose --timeout 1800 --preload $(BUILD)/tests/late.so $(T)

# The long fuzzing: FUZZ_SECONDS for each target.
fuzz-bins: $(FUZZ_BINS)
fuzz:
	@FUZZ_SEED=$${FUZZ_SEED:-0} FUZZ_SECONDS=$${FUZZ_SECONDS:-600} tests/build/fuzz
	@$(MAKE) --no-print-directory -s test-bins
	@POLICY_CALLS=60 POLICY_MODULES=2000 POLICY_SEED=$${POLICY_SEED:-$$(date +%s)} tests/run --timeout 3600 tests/scenario/policy_calls

bench: all $(BENCH_BINS) $(TOOL_BINS)
	@set -e; for b in $(BENCHES); do echo "== $$b"; BUILD="$$(realpath $(BUILD))" $$b; done

# Two builds in their own folders, whatever of BUILD, SAN and FUZZ the caller has set.
check:
	@contrib/bootstrap --tests
	@$(MAKE) --no-print-directory -s $(JOBS) WERROR=1 BUILD=build SAN= FUZZ= test-bins
	@$(MAKE) --no-print-directory -s $(JOBS) WERROR=1 BUILD=build-san SAN=1 FUZZ= test-bins
	@tests/run --build build --timeout 2400 $(BUILD_TESTS) $(patsubst $(BUILD)/%,build/%,$(UNIT_BINS) $(FUZZ_BINS)) $(SCENARIOS) \
	    $(patsubst $(BUILD)/%,build-san/%,$(UNIT_BINS) $(FUZZ_BINS))
