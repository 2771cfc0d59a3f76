/* The words of the seccomp filters that a command gets, and the tables of system
 * calls that its kernel answers to.  FILTER_ARCH is not there where no filter is. */
#ifndef BROKER_CLI_RUN_RUN_FILTER_H
#define BROKER_CLI_RUN_RUN_FILTER_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
#define FILTER_OTHER_ARCH AUDIT_ARCH_I386
#elif defined(__aarch64__)
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#define FILTER_OTHER_ARCH AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define FILTER_ARCH AUDIT_ARCH_RISCV64
#define FILTER_OTHER_ARCH FILTER_ARCH
#endif

/* Of an argument; the kernel takes the low half of one of 32 bits and no more. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FILTER_LOW(i) (offsetof(struct seccomp_data, args) + 8 * (i))
#define FILTER_HIGH(i) (FILTER_LOW(i) + 4)
#else
#error "the low half of an argument stands elsewhere"
#endif

#define LOAD_AT(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define LOAD(member) LOAD_AT(offsetof(struct seccomp_data, member))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, \
	(uint32_t)(value), yes, no)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

#endif
