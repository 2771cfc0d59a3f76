"""Calls of builtins, generated: ordinary, boundary and wrong-typed arguments, as Rego terms."""
import base64
import hashlib
import hmac
import json


def q(s):
    """A Rego string."""
    return json.dumps(s, ensure_ascii=False).replace("\x7f", "\\u007f").replace("\ufeff", "\\ufeff")


NUMBERS = ("0 -0 1 -1 2 3 7 10 -3 16 255 256 1000 64 63 65 -64 0.0 -0.0 1.0 1.5 -1.5 2.5 -2.5 0.5 -0.5 0.1 0.2 0.3 1e2 1E2 1e+2 1.50 "
           "1e-7 1e-3 1e21 1e20 123456789.125 3.14159 100000000000000000000 -100000000000000000000 2147483647 2147483648 "
           "4294967296 9007199254740991 9007199254740992 9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808 "
           "-9223372036854775809 18446744073709551615 18446744073709551616 18446744073709551617 340282366920938463463374607431768211456 "
           "1e400 -1e400 1e-400 5e-324 1.7976931348623157e308 2.2250738585072014e-308 0.000001 1e-10 12345678901234567890.5 "
           "0.30000000000000004 1.0000000000000000000001 99999999999999999999.99 1e19 1e18 1.0e3 12e-1").split()
SMALL = "0 1 2 3 4 5 -1 -2 10 1.0 2.0 1.5 100 -0 1e0 1e1".split()
TEXTS = [q(s) for s in (
    "", "a", "abc", "aaa", "a,b,c", "hello world", "  lead and trail  ", "Hello, World", "héllo", "日本語", "e\u0301", "a\U0001F600b", "\U0001F600",
    "ß", "İ", "ı", "ǅ", "ﬁ", "ΑΣ", "ς", "\u00a0x\u00a0", "\u2003y\u2003", "tab\tnew\nline\r", "\x00", "a\x00b", "\x7f", "\u0085z\u0085", "\ufeff", "\ufffd",
    "\u2028", "<script>&'\"", "\\", "\"quoted\"", "/", "//", "a/b/c", "a.b.c", "api.example.com", "null", "true", "{}", "[1]", "aXbXc", "ab" * 40, "%", "%d",
    "\u0130\u0131", "\u1e9e", "\u03c3\u03c2", "\u10d0", "\u1c90", "\ua64b\u1c88", "\u00b5", "\u017f", "\u212a", "ᾳ", "ŉ", "a b\tc", "A", "Z", "aBc", ",", " ", ".")]
RAW = ['hex.decode("ff")', 'hex.decode("61ff62")', 'hex.decode("c3")', 'hex.decode("eda080")', 'hex.decode("f0808080")', 'hex.decode("c0af")',
       'hex.decode("f48fbfbf")', 'hex.decode("f4908080")']
NUMTEXTS = [q(s) for s in ("0", "1", "-1", "+1", "1.5", "1.", ".5", "1e3", "1E3", "1e", "01", "-0", "-01", "0x10", " 1", "1 ", "", "1_000", "NaN", "inf", "-Inf",
                           "+Infinity", "1e400", "1e-400", "9223372036854775808", "00", "1e05", "1e+05", "١", "--1", "1.2.3", "0b1", "0o7", "1e1000", "infinit",
                           "0.10", "-.5", "1.e1", "0e0", "0x1p4", "-0x1", "1__0", "e1", "+", "-", "+.5", "1e-0")]
PATTERNS = [q(s) for s in (
    "", "a", "a*", "a+", "a?", "(a)(b)?", "[a-c]+", "^a", "a$", "^$", ".", ".*", "(?i)ABC", "(?s).", "(?m)^b", "\\d+", "\\bfoo\\b", "\\B", "[^x]", "(a|b|c)",
    "a{2}", "a{2,}", "a{0,3}", "a{1001}", "a{1000}", "(", ")", "[", "a**", "*a", "\\", "(?=a)", "(?!a)", "(a)\\1", "\\p{L}+", "\\p{Greek}", "\\pN", "\\P{L}", "[[:alpha:]]+",
    "[[:^digit:]]", "(?P<n>a)", "(?<n>a)", "(?P<n>a)(?P<n>b)", "x*", "é", "[é-ü]", "\U0001F600", "\\x41", "\\x{1F600}", "\\Qa.b\\E", "\\z", "\\A", "\\Z", "\\C", "a|", "|a", "(|a)*",
    "(a*)*", "(a*)+", "a*?", "a+?", "a??", "(?U)a+", "[a", "a]", "[]a]", "[^]a]", "[a-]", "[-a]", "[b-a]", "a{,2}", "a{2", "a{3,2}", "{", "}", "\\t", "\\07", "\\0", "\\8", "\\u0041",
    "(?i)ß", "(?i)k", "(?i)ſ", "(?i)[a-z]+", "\\s+", "\\S", "\\w+", "\\W", "[\\d\\-x]", "[\\w.]+", "(?:ab)+", "(?i:A)b", "(?-i)a", "(?x)a", "(?", "(?P", "(?P<", "(?P<1a>x)", "(?P<>x)",
    "\\p{Nope}", "\\pX", "\\p", "[\\p{L}]", "[\\Q]", "^*", "$*", "\\b*", "a{0}", "((a){2}){3}", "(?i)σ", "[[:word:]]", "[[:foo:]]", "[a-\\d]", "a\\", "\\e", "\\_", "\\-", "[^\\n]", "[^\\x00-\\x{10FFFF}]",
    "(?s:.)(?-s:.)", "(a{1000}){2}", "\\x{110000}", "\\xZ", "\\x4", "[\\x{00}-a]", "(?:)", "()", "()*", "(?i)(?-i:a)b", "a.c", "[.]", "\\.", "foo.*bar")]
SUBJECTS = [q(s) for s in ("", "a", "aa", "aab", "abc", "ABC", "xabcx", "foo bar", "foo", "a\nb", "b\na", "é", "日本", "\U0001F600", "123", "a1b22", "k", "\u212a", "ſ", "s", "ΑΣς", "a.b",
                           "aXb", "\x00", "-", "a-b_c", "\t x", "ǅ", "\u0660", "_", "SS", "ß", "aaaaaaaaaa", "ab,cd;ef", "abab", "foobar foobaz")]
REPLACEMENTS = [q(s) for s in ("", "x", "$0", "$1", "${1}x", "$1x", "$n", "${n}", "$$", "$", "${", "${1", "$é", "\\1", "[$2]", "$10", "${01}", "$_", "${a-b}", "é$0é")]
GLOBS = [q(s) for s in (
    "", "*", "**", "?", "a*", "*a", "a*b*c", "*.example.com", "**.example.com", "api.*.com", "[a-c]", "[!a-c]", "[^a]", "[abc]", "{a,b}", "{a*,b?}", "{a,{b,c}}", "{", "}", "[", "]", "{a", "a}", "[]", "[!]",
    "\\*", "\\", "a\\", "\\a", "[a-]", "[-a]", "{,a}", "{a,}", "{}", "/v1/**", "/v1/*", "**/x", "a/**/b", "***", "*?", "?*", "**?", "é*", "?é", "[é-ü]", "[\U0001F600]", "{a.b,c}", "[c-a]", "[a", "a.b",
    "*:*", "[a\\]]", "{a\\,b}", ",", "-", "!", "[!a", "{a,b}{c,d}", "[ab][cd]", "a[!/]b", "*{a,b}*", "{**,x}.y", "{*a,*b}", "[a-cx]", "ab{c,d}ef", "{ab,ac}*", "??", "a?c", "[[]", "{[a],b}")]
GLOBBED = [q(s) for s in ("", "a", "b", "c", "ab", "abc", "a.b", "a.b.c", "api.example.com", "x.api.example.com", "example.com", ".example.com", "a/b", "/v1", "/v1/", "/v1/x", "/v1/x/y", "x", "a/x/b", "a//b",
                          "*", "\\", "é", "aé", "\U0001F600", "[", "]", "{", "}", "a:b", ",", "-", "!", "ac", "bd", "axbxc", "/", ".", "..", "a.y", "aa", "acx", "abcef")]
DELIMITERS = ['[]', 'null', '["."]', '["/"]', '[":"]', '[".", "/"]', '[""]', '["é"]', '["ab"]', '["."]', '["*"]', '[","]', '["\U0001F600"]', '["x", "x"]']
CIDRS = [q(s) for s in ("10.0.0.0/8", "10.1.2.3/32", "10.1.2.3", "192.168.1.0/24", "192.168.1.255", "0.0.0.0/0", "::/0", "::1", "fe80::/10", "2001:db8::/32", "2001:db8::1/128", "::ffff:10.0.0.1",
                        "::ffff:10.0.0.0/104", "10.0.0.0/33", "10.0.0/8", "10.0.0.256", "", "x", "010.0.0.1", "10.0.0.1/", "10.0.0.1/08", "10.0.0.1/-1", "10.0.0.1/+8", "fe80::1%eth0", "1::2::3", "10.0.0.1/8/8", "::ffff:0:0/96",
                        "10.128.0.0/9", "10.0.0.0/9", "192.168.0.0/23", "192.168.2.0/24", "172.16.0.0/30", "2001:db8::/126", "2001:DB8::1", "0.0.0.0", "255.255.255.255", "255.255.255.255/31", "1.2.3.4/31", "10.5.5.5/8", " 10.0.0.1")]
LAYOUTS = [q(s) for s in ("2006-01-02T15:04:05Z07:00", "RFC3339", "RFC3339Nano", "ANSIC", "UnixDate", "RubyDate", "RFC822", "RFC822Z", "RFC850", "RFC1123", "RFC1123Z", "Kitchen", "2006-01-02", "Jan _2 06 3:04PM",
                          "Monday, 02-Jan-06 15:04:05 MST", "2006-002", "15:04:05.000", "15:04:05.999999999", "15:04:05,00", "", "x", "-0700", "-07", "-07:00:00", "Z0700", "Z07", "1/2/06", "__2", "05 pm PM", "Mon Jan", "DateOnly",
                          "DateTime", "TimeOnly", "Stamp", "StampMilli", "StampNano", "Layout", "20060102150405", "2006-01-02 15:04:05.999 -0700 MST", ".000000", "3:4:5 am")]
MOMENTS = [q(s) for s in ("2026-01-02T03:04:05Z", "2024-02-29T00:00:00Z", "2026-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00.5+02:00", "2026-01-01T00:00:00.123456789-23:59",
                          "2300-01-01T00:00:00Z", "1677-09-21T00:12:43Z", "1677-09-21T00:12:44Z", "2262-04-11T23:47:16Z", "2262-04-11T23:47:17Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-1-2T3:4:5Z", "2026-01-02t03:04:05z", "2026-01-02 03:04:05Z",
                          "2026-13-01T00:00:00Z", "2026-01-02", "Fri Jan  2 03:04:05 2026", "Fri Jan  2 03:04:05 UTC 2026", "Fri, 02 Jan 2026 03:04:05 MST", "Fri, 02 Jan 2026 03:04:05 -0700", "3:04AM", "12:00PM", "0:00AM", "", "x", "Friday, 02-Jan-26 03:04:05 UTC",
                          "2026-060", "2026-366", "2024-366", "20260102030405", "02 Jan 26 03:04 UTC", "Jan  2 26 3:04PM", "03:04:05.123", "03:04:05,12", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05.1234567891Z", "2026-01-02T03:04:05+24:00",
                          "2026-01-02T03:04:05-00:00", "+0700", "-07", "Z", "1/2/26", "Mon Jan", "2026-01-02 03:04:05", "2026-01-02T03:04:05+0200", "2026-00-10T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05,5Z",
                          "Fri Jan 02 03:04:05 -0700 2026", "Jan  2 03:04:05", "01/02 03:04:05PM '06 -0700")]
NS = "0 1 -1 999999999 1000000000 1767323045123456789 1709164800000000000 -62135596800000000000 9223372036854775807 -9223372036854775808 1e18 1.5 1e3 1700000000000000000 951782400000000000 -1000000001 1711846800000000000 1729990800000000000".split()
ZONES = [q(s) for s in ("UTC", "", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Nope/Zone", "../etc/passwd", "utc", "America/St_Johns", "Pacific/Apia", "Africa/Monrovia", "EST", "Etc/GMT+5", "/etc/localtime", "Asia/Tokyo ")]
DURATIONS = [q(s) for s in ("1h", "1h30m", "1.5h", "-1m", "+1s", "1us", "1µs", "1μs", "1ns", "0", "0s", "", "1", "h", "1d", ".5s", "1.s", ".s", "1h 2m", "9223372036854775807ns", "9223372036854775808ns", "-9223372036854775808ns", "2562047h47m16.854775807s",
                            "2562048h", "1e3s", "--1s", "1.0000000000000000000001s", "0.9999999999ns", "3000000h", "1ms1us", "1S", "-.5h", "00001h", "1h1h", "0.1234567890123456789h")]
UNITS = [q(s) for s in ("1", "10K", "10Ki", "1.5GB", "1.5G", "1m", "100m", "1MB", "1mb", "1Mib", "1kib", "1KiB", "1E", "1e3", "1E3K", "1P", "1T", "1Pi", "1Ei", "", "K", "1 K", " 1", "1Kb", "1X", "-1", "-1.5Ki", "+1", "\"1K\"", "\"10\"", "0.1K", "0.0005K", "1..5", "1.5.5K",
                        "1M", "1Mi", "1g", "1t", "1b", "1B", "1bytes", "1e", "1ei", "10000000000000000000E", "0.5", ".5K", "5.", "5.K", "1KK", "1Zi", "1k", "1Ki", "0x10", "1e400", "1,000", "1mi", "1mB", "9999999999Ei", "1.2345678901234567890M", "1n", "1u", "1_0", "é", "1é", "-", "1-")]
SEMVERS = [q(s) for s in ("1.0.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-1", "1.0.0-rc.1+build.5", "1.0.0+b", "v1.0.0", "1.0", "1", "", "01.0.0", "1.0.0-01", "1.0.0-", "1.0.0+", "1.0.0-a..b", "10.2.3", "9.9.9", "1.0.0-beta.11", "1.0.0-beta.2", "1.0.0-é",
                          "9223372036854775807.0.0", "9223372036854775808.0.0", "1.0.0.0", " 1.0.0", "1.0.0-a+b+c", "-1.0.0", "1.+1.0", "1.0.0-A", "1.0.0-a-b", "1.0.0--", "1.2.3-0", "1.2.3-00a", "1.0.0-9223372036854775808")]
B64 = [q(s) for s in ("", "YQ==", "YQ", "YWI=", "YWJj", "YQ=", "=", "====", "Y", "YQ==\n", "Y Q==", "YQ\n==", "-_8", "+/8=", "-_8=", "YR==", "____", "////", "YWJj====", "YWJjZA==", "é", "YQ==YQ==", "\r\nYWJj", "YW\x00Jj")]
HEX = [q(s) for s in ("", "00", "ff", "FF", "fF", "f", "0g", "deadbeef", " 00", "00 ", "é", "c3a9", "0x00")]
QUERIES = [q(s) for s in ("", "a=b", "a=b&c=d", "a=1&a=2", "a", "a&b", "=b", "a=b=c", "a+b=c%20d", "%", "%4", "%zz", "a;b", "a=b;c=d", "&&", "é=ü", "%C3%A9", "%ff", "a%00b", "%2B", "a=%26", "=", "a=&b")]
JSONS = [q(s) for s in ("", "{}", "[]", "null", "true", "1", "1.0", "-0", "1e2", "01", "1e400", "\"a\"", "\"\\u0041\"", "\"\\ud83d\\ude00\"", "\"\\ud800\"", "\"\\udc00x\"", "{\"a\":1}", "{\"a\":1,\"a\":2}", "[1,2,]", "{]", "{\"a\"}", " 1 ", "1 2", "{}x", "nul", "'a'",
                        "[[[[1]]]]", "\"\n\"", "\"\\x\"", "{\"b\":1,\"a\":2}", "\ufeff1", "[1.50,1E+2]", "{\"a\":[1,{\"b\":null}]}", "-", "-1", "+1", ".5", "1.", "1e", "NaN", "\"\x00\"", "\"\\u00\"", "[" * 60 + "]" * 60, "\"\t\"", "\"\x7f\"", "//", "{\"é\":\"é\"}", "\t[\n]\r", "\"\\/\"",
                        "{1:2}", "[,1]", "{\"a\":1,}", "\"\\b\\f\\n\\r\\t\"", "\"<>&\"")]
FORMATS = [q(s) for s in (
    "%d", "%s", "%v", "%q", "%x", "%X", "%o", "%O", "%b", "%c", "%U", "%e", "%E", "%f", "%F", "%g", "%G", "%t", "%T", "%p", "%%", "%", "%z", "%é", "%5d", "%-5d|", "%05d", "%+d", "% d", "%#x", "%#o", "%#b", "%#q", "%#v", "%+v", "%+q", "%#U", "%5.2f", "%.2f", "%.0f", "%.f",
    "%05.1f", "%+.3e", "%10s|", "%-10s|", "%.2s", "%5.1s", "%x", "% x", "%# x", "% X", "%.3x", "%5c|", "%-5c|", "%05s", "%+5d", "%.3d", "%8.3d", "%08.3d", "%-08d|", "%d %d", "%s %s", "%d%%", "no verbs", "", "%[1]d", "%[2]d %[1]d", "%[3]d", "%[x]d", "%[1]", "%*d", "%-*d|", "%.*f",
    "%[2]*[1]d", "%!", "%w", "%1000000d", "%99999999999d", "%.10d", "%v %v %v", "%.20f", "%.30e", "%.0e", "%#g", "%#e", "%#.0f", "%.3g", "%10.3g|", "%-10.3v|", "%010v", "%+v %+v", "%5t", "%5q", "%-5q|", "%05q", "%.1q", "%#.1q", "%#+q", "% d|% d", "%+ d", "%0-5d|", "%-05d|", "% 05d", "%+05d", "%#08x",
    "%#5b", "%3c", "%U|%#U", "%08b", "%o|%#o", "%x|%X", "%é %d", "%\U0001F600d", "%5%", "%-%", "%05.2f|%-8.3f|%+8.1f", "%v|%d|%s", "%6.2f%%", "%s|%5s|%-5s|", "%b", "%.5b", "%5e", "%20e|", "%-20g|", "%020g", "%+g", "% g", "%#x|%#X", "%x %x", "%d.%d", "%[1]v %[1]v", "%[5]v", "%[-1]d", "%[0]d", "%[1]*d", "%.[1]d",
    "%.[2]*[1]f", "%[1]d %d", "%[", "%[]d", "%-+d", "%++d", "%##x", "%.d", "%5.d|", "%.-3d", "%-.3d", "%#t", "%#d", "%#s", "%#c", "%j", "%k", "%i", "%u", "%a", "%n", "%5T|", "%-12T|", "%.2T", "%#T", "%#p", "%w %w")]
PLAIN = ["null", "true", "false"]
COLLECTIONS = ["[]", "{}", "set()", "[1]", "[1, 2, 3]", "[[1], [2]]", "{1}", "{1, 2, 3}", "{\"a\"}", "{\"a\": 1}", "{\"a\": {\"b\": 1}}", "{1: 2}", "{null: 1, \"x\": [1]}", "{{1}: {2}}", "[null, true, 1, \"a\", [], {}, set()]", "{null, true, 1, \"a\", [1], {\"a\": 1}, {1}}",
               "{\"a\": {1, 2}}", "[1.0, 2, 3e0]", "{[1]: 1}", "{\"é\": \"\U0001F600\"}", "[{\"a\": [1, {\"b\": 2}]}]", "{\"a\": [{\"b\": 1}, {\"b\": 2}]}", "{\"a~b\": 1, \"a/b\": 2, \"\": 3}", "{\"0\": 1, 0: 2}", "[[], [[]], [[[]]]]", "{set(), {set()}}", "[0.1, -0.1, 1e400]", "{true: 1, false: 2}",
               "[\"b\", \"a\", \"B\"]", "{\"b\": 1, \"a\": 2, \"B\": 3}", "[\"a\", 1]", "[null]", "[{}]", "[{}, {\"a\": 1}]", "{1.5: \"x\", -1: \"y\"}", "[1, [2, [3, [4, []]]]]", "{{\"a\": 1}, {\"a\": 2}}"]
NUMLISTS = ["[]", "set()", "[1, 2, 3]", "{1, 2, 3}", "[0.1, 0.2]", "[1e400, 1]", "[9223372036854775807, 1]", "[1.5, 2.5]", "[\"a\"]", "[1, \"a\"]", "[1, null]", "[-0]", "[0.1, 0.1, 0.1]", "[100000000000000000000, 1]", "[true]", "[1e-400]", "[1.0]", "[2, 0.5]", "[9007199254740993, 2]"]
TEXTLISTS = ["[]", "set()", "[\"a\"]", "[\"a\", \"b\"]", "{\"b\", \"a\"}", "[\"\"]", "[\"a\", 1]", "{1}", "[\"é\", \"\U0001F600\"]", "{\"ab\", \"abc\"}", "[\"a\", [\"b\"]]", "{\"a\", \"\"}", "{\"x\", 1}"]
SETS = ["set()", "{1}", "{1, 2}", "{2, 3}", "{\"a\"}", "{1.5}", "{{1}, {2}}", "{[1], [2]}", "{null}", "{1, \"a\", null}", "{{\"a\": 1}}"]
SETSETS = ["set()", "{set()}", "{{1}, {2}}", "{{1, 2}, {2, 3}}", "{{1}, set()}", "{1}", "{{1}, 2}", "{{\"a\"}, {\"a\", 1}}"]
OBJECTS = ["{}", "{\"a\": 1}", "{\"a\": {\"b\": {\"c\": 1}}}", "{\"a\": {\"b\": 2, \"d\": [1]}}", "{1: 2}", "{\"a\": [1, {\"x\": 2}, 3]}", "{\"a\": {1, 2}}", "{\"b\": null, \"a\": false}", "{\"a/b\": 1, \"m~n\": 2}", "{\"\": 1}", "{\"a\": {\"a\": {\"a\": {}}}}", "{null: 1}", "{\"a\": {}, \"b\": []}", "{[1]: {\"x\": 1}}", "{\"0\": {\"a\": 1}}",
           "{\"a\": [[1, 2], [3]]}", "{2.5: \"f\"}"]
PATHS = [q(s) for s in ("", "/", "a", "/a", "a/b", "a/b/c", "a/0", "a/1/x", "a~1b", "m~0n", "x", "a/-", "a//b", "/a/", "a/01", "a/9", "0/a", "a/b/", "~", "~2")] + ["[]", "[\"a\"]", "[\"a\", \"b\"]", "[\"a\", 0]", "[\"a\", \"0\"]", "[1]", "[\"x\"]", "[null]", "[[1]]", "[\"a\", 0, 1]"]
PATHLISTS = ["[]", "set()", "[\"a\"]", "[\"a/b\"]", "{\"a\", \"b\"}", "[[\"a\", \"b\"]]", "[\"a/0\"]", "[[\"a\", 1]]", "[\"\"]", "[[]]", "[\"a\", \"a/b\"]", "[\"a/b\", \"a\"]", "[1]", "[[1]]", "[\"a/1/x\", \"a/0\"]", "{\"a/b/c\", \"a/d\"}", "[\"/a/\"]", "[\"x/y\"]", "[\"a~1b\"]", "[null]", "{\"a\": 1}", "[\"a/0/0\", \"a/1\"]", "[\"a/a\", \"a/a/a\"]"]
KEYLISTS = ["[]", "set()", "[\"a\"]", "{\"a\", \"b\"}", "{\"a\": 1}", "[1]", "{1, 2}", "[null]", "[[1]]", "[1.5]", "{\"x\"}"]
GRAPHS = ["{}", "{\"a\": [\"b\"], \"b\": [\"c\"], \"c\": []}", "{\"a\": {\"b\"}, \"b\": {\"a\"}}", "{\"a\": [\"a\"]}", "{\"a\": [\"b\", \"c\"], \"b\": [\"d\"], \"c\": [\"d\"], \"d\": []}", "{\"a\": [\"x\"]}", "{\"a\": \"b\"}", "{\"a\": null}", "{1: [2], 2: [1]}", "{\"a\": [\"b\", \"b\"], \"b\": [\"c\", \"a\"]}", "{\"a\": [[1]], [1]: [\"a\"]}", "{\"a\": [\"b\"], \"b\": null}"]
STARTS = ["[]", "set()", "[\"a\"]", "{\"a\", \"b\"}", "[\"x\"]", "[1]", "{1}", "[\"a\", \"a\"]", "\"a\"", "[\"d\", \"a\"]"]
BASES = "2 8 10 16 3 0 -2 2.0 10.0 1e1 36".split()
UUIDS = [q(s) for s in ("00000000-0000-0000-0000-000000000000", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "F47AC10B-58CC-4372-A567-0E02B2C3D479", "urn:uuid:f47ac10b-58cc-4372-a567-0e02b2c3d479", "{f47ac10b-58cc-4372-a567-0e02b2c3d479}", "f47ac10b58cc4372a5670e02b2c3d479", "", "x",
                        "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "1ec9414c-232a-6b00-b3c8-9e6bdeced846", "018f3f5e-7b00-7cc3-98c4-dc0c0c07398f", "f47ac10b-58cc-4372-a567-0e02b2c3d47", "f47ac10b-58cc-4372-a567-0e02b2c3d47g", "000003e8-cb25-21f1-9200-325096b39f47", "ffffffff-ffff-ffff-ffff-ffffffffffff",
                        "6ba7b810-9dad-11d1-c0b4-00c04fd430c8", "6ba7b810-9dad-11d1-e0b4-01c04fd430c8", "URN:UUID:f47ac10b-58cc-4372-a567-0e02b2c3d479")]
TEMPLATES = [q(s) for s in ("a<a>", "{a}", "a{[0-9]+}b", "{.*}", "{", "}", "{}", "urn:{foo|bar}:x", "{{a}}", "<a>", "{(}", "a.b{.}c", "{a{2}}", "}{", "é{ü}")]
OPTIONS = ["{}", "{\"pretty\": true}", "{\"pretty\": false}", "{\"indent\": \"  \"}", "{\"prefix\": \">\"}", "{\"pretty\": true, \"prefix\": \"#\", \"indent\": \"xx\"}", "{\"pretty\": false, \"indent\": \"  \"}", "{\"x\": 1}", "{\"pretty\": 1}", "{\"indent\": 1}", "{1: 2}", "{\"prefix\": null}", "{\"indent\": \"\"}"]
PATCH_PATHS = ["/a", "/a/b", "/a/0", "/a/-", "/x", "", "/", "a", "/a/b/c", "/a~1b", "/m~0n", "/a/9", "/a/1/x", "/b", "/a/00", "/a/-1", "/a/1"]


def b64(b):
    return base64.urlsafe_b64encode(b).rstrip(b"=").decode()


def token(header, payload, key=b"secret", digest="sha256"):
    """A JWT; header and payload are text, so that they may be wrong."""
    body = b64(header.encode()) + "." + b64(payload.encode())
    return body + "." + b64(hmac.new(key, body.encode(), getattr(hashlib, digest)).digest())


HS = [token('{"alg":"HS256","typ":"JWT"}', p) for p in (
    '{"iss":"me","aud":"you","exp":1900000000,"nbf":1600000000}', '{}', '{"exp":1}', '{"nbf":9999999999}', '{"aud":["you","them"]}', '{"exp":"x"}', '{"a":1.0,"a":2}', '[]', '1', '"x"', 'null', '{', '', '{"exp":1e400}', '{"exp":1900000000.5}', '{"iss":1}', '{"aud":7}',
    '{"aud":[]}', '{"nbf":1600000000.0}', '{"exp":null}', ' {"iss":"me"} ')]
HS += [token('{"alg":"HS384"}', '{"x":1}', digest="sha384"), token('{"alg":"HS512"}', '{"x":1}', digest="sha512"), token('{"alg":"none"}', '{}'), token('{}', '{}'), token('{"alg":7}', '{}'), token('[]', '{}'), token('{"alg":"HS256","zip":"DEF"}', '{}'),
       token('{"alg":"HS256","crit":["x"]}', '{}'), token('{"alg":"HS256","cty":"JWT"}', token('{"alg":"HS256"}', '{"in":1}')), token('{"alg":"HS256","cty":"JWT"}', '"' + token('{"alg":"HS256"}', '{"in":1}') + '"'), token('{"alg":"hs256"}', '{}'), token('{"alg":"HS256","kid":"k1"}', '{"iss":"me"}'),
       token('{"alg":"HS256"}', '{}', key=b""), token('{"alg":"HS256","enc":"x"}', '{}'), token('{"alg":"HS256","b64":false}', '{}'), token('nope', '{}'), token('{"alg":"HS256","alg":"none"}', '{}')]
HS += [HS[0] + "=", HS[0][:-3], HS[0] + ".x", "a.b.c", "..", "", "a.b", ".".join(HS[0].split(".")[:2]) + ".", HS[0].replace(".", ".\n", 1), HS[0] + "\n", " " + HS[0]]
TOKENS = [q(t) for t in HS]
HS_KEYS = [q(s) for s in ("secret", "", "other", "secret\n", '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}')]
CONSTRAINTS = ["{\"secret\": \"secret\"}", "{\"secret\": \"secret\", \"iss\": \"me\", \"aud\": \"you\"}", "{\"secret\": \"secret\", \"alg\": \"HS256\"}", "{\"secret\": \"secret\", \"alg\": \"none\"}", "{\"secret\": \"secret\", \"aud\": \"you\", \"time\": 1700000000000000000}", "{\"secret\": \"secret\", \"time\": 0}",
               "{\"secret\": \"secret\", \"time\": 1950000000000000000}", "{}", "{\"cert\": \"x\"}", "{\"secret\": 1}", "{\"secret\": \"secret\", \"bogus\": 1}", "{\"secret\": \"secret\", \"aud\": 7}", "{\"secret\": \"secret\", \"iss\": 1}", "{\"secret\": \"secret\", \"time\": \"x\"}", "{\"secret\": \"\"}",
               "{\"secret\": \"other\"}", "{\"secret\": \"secret\", \"alg\": \"HS999\"}", "{\"secret\": \"secret\", \"aud\": \"them\", \"time\": 1700000000000000000.5}", "{\"secret\": \"secret\", \"time\": 1e18}", "{\"secret\": \"secret\", 1: 2}", "{\"secret\": \"secret\", \"cert\": \"x\"}", "{\"cert\": \"{\\\"kty\\\":\\\"oct\\\",\\\"k\\\":\\\"c2VjcmV0\\\"}\"}"]
JWS_HEADERS = ["{\"alg\": \"HS256\"}", "{\"alg\": \"HS256\", \"typ\": \"JWT\"}", "{\"alg\": \"HS512\"}", "{\"alg\": \"HS384\"}", "{}", "{\"alg\": \"none\"}", "{\"alg\": 1}", "{\"typ\": \"text/plain\", \"alg\": \"HS256\"}", "{\"alg\": \"XX\"}", "{\"alg\": \"HS256\", 1: 2}"]
JWS_PAYLOADS = ["{}", "{\"iss\": \"me\"}", "{\"a\": {2, 1}, \"b\": 1.50}", "{\"é\": \"<&>\"}", "{1: 2}", "{\"b\": 1, \"a\": 2}"]
JWS_KEYS = ["{\"kty\": \"oct\", \"k\": \"c2VjcmV0\"}", "{\"kty\": \"oct\", \"k\": \"\"}", "{\"kty\": \"oct\"}", "{\"kty\": \"RSA\"}", "{}", "{\"kty\": \"oct\", \"k\": \"c2VjcmV0==\"}", "{\"kty\": \"oct\", \"k\": 7}", "{\"k\": \"c2VjcmV0\"}", "{\"kty\": \"oct\", \"k\": \"+/8\"}", "{\"kty\": \"OCT\", \"k\": \"c2VjcmV0\"}"]

POOLS = {
    "num": NUMBERS, "small": SMALL, "text": TEXTS + TEXTS + RAW, "numtext": NUMTEXTS + NUMBERS + PLAIN, "pattern": PATTERNS, "subject": SUBJECTS + SUBJECTS + RAW, "replacement": REPLACEMENTS, "glob": GLOBS, "globbed": GLOBBED, "delimiters": DELIMITERS,
    "cidr": CIDRS, "layout": LAYOUTS, "moment": MOMENTS, "ns": NS, "duration": DURATIONS, "unit": UNITS, "semver": SEMVERS, "b64": B64 + TEXTS[:6], "hex": HEX, "query": QUERIES, "json": JSONS, "format": FORMATS, "coll": COLLECTIONS, "numlist": NUMLISTS, "textlist": TEXTLISTS,
    "set": SETS, "setset": SETSETS, "object": OBJECTS, "path": PATHS, "pathlist": PATHLISTS, "keylist": KEYLISTS, "graph": GRAPHS, "starts": STARTS, "base": BASES, "uuid": UUIDS, "template": TEMPLATES, "options": OPTIONS, "open": ['""', '"é"', '"{{"', "1"], "close": ['"}"', '""'], "token": TOKENS, "hskey": HS_KEYS, "constraints": CONSTRAINTS,
    "jwsheader": JWS_HEADERS, "jwspayload": JWS_PAYLOADS, "jwskey": JWS_KEYS,
}
ANY = sum((POOLS[k] for k in ("num", "text", "coll", "object", "set")), []) + PLAIN * 8

# What each builtin takes; "a|b" is either, "[a]" a generated array of these.
SIGNATURES = {
    "count": ["coll|text"], "sum": ["numlist"], "product": ["numlist"], "max": ["coll|numlist"], "min": ["coll|numlist"], "sort": ["coll|numlist|[any]"], "internal.member_2": ["any", "coll|[any]"], "internal.member_3": ["any", "any", "coll|object"],
    "plus": ["num", "num"], "minus": ["num", "num"], "minus ": ["set", "set"], "mul": ["num", "num"], "div": ["num", "num"], "rem": ["num", "num"], "abs": ["num"], "round": ["num"], "ceil": ["num"], "floor": ["num"], "numbers.range": ["small|range", "small|range"], "numbers.range_step": ["small|range", "small|range", "small|num"],
    "array.concat": ["coll", "coll"], "array.slice": ["coll|[any]", "small|num", "small|num"], "array.reverse": ["coll|[any]"], "array.flatten": ["coll|[any]"], "bits.and": ["num", "num"], "bits.or": ["num", "num"], "bits.xor": ["num", "num"], "bits.negate": ["num"], "bits.lsh": ["num", "small"], "bits.rsh": ["num", "small"],
    "equal": ["any", "any"], "neq": ["any", "any"], "lt": ["any", "any"], "lte": ["any", "any"], "gt": ["any", "any"], "gte": ["any", "any"], "lt ": ["num", "num"], "equal ": ["num", "num"], "lt  ": ["text", "text"], "lt   ": ["deep", "deep"], "lt    ": ["object", "object"],
    "crypto.md5": ["text"], "crypto.sha1": ["text"], "crypto.sha256": ["text"], "crypto.hmac.md5": ["text", "text"], "crypto.hmac.sha1": ["text", "text"], "crypto.hmac.sha256": ["text", "text"], "crypto.hmac.sha512": ["text", "text"], "crypto.hmac.equal": ["text", "text"],
    "base64.encode": ["text"], "base64.decode": ["b64"], "base64.is_valid": ["b64"], "base64url.encode": ["text"], "base64url.encode_no_pad": ["text"], "base64url.decode": ["b64"], "hex.encode": ["text"], "hex.decode": ["hex"], "urlquery.encode": ["text"], "urlquery.decode": ["query"], "urlquery.encode_object": ["object|qobject"], "urlquery.decode_object": ["query"],
    "json.marshal": ["any|deep"], "json.marshal_with_options": ["any|deep", "options"], "json.unmarshal": ["json"], "json.is_valid": ["json"], "glob.match": ["glob", "delimiters", "globbed"], "glob.match ": ["globgen", "delimiters", "globtext"], "glob.quote_meta": ["glob"], "graph.reachable": ["graph", "starts"], "graph.reachable_paths": ["graph", "starts"],
    "json.filter": ["object|deep", "pathlist"], "json.remove": ["object|deep", "pathlist"], "json.patch": ["object|coll", "patches"], "io.jwt.decode": ["token"], "io.jwt.decode_verify": ["token", "constraints"], "io.jwt.verify_hs256": ["token", "hskey"], "io.jwt.verify_hs384": ["token", "hskey"], "io.jwt.verify_hs512": ["token", "hskey"], "io.jwt.encode_sign": ["jwsheader", "jwspayload", "jwskey"],
    "io.jwt.encode_sign_raw": ["rawheader", "json", "rawkey"], "net.cidr_contains": ["cidr", "cidr"], "net.cidr_intersects": ["cidr", "cidr"], "net.cidr_contains_matches": ["cidrs", "cidrs"], "net.cidr_expand": ["smallcidr"], "net.cidr_merge": ["cidrs"], "net.cidr_is_valid": ["cidr"],
    "object.get": ["object|coll", "path|any", "any"], "object.keys": ["object"], "object.remove": ["object", "keylist"], "object.filter": ["object", "keylist"], "object.union": ["object|deep", "object|deep"], "object.union_n": ["[object]"], "object.subset": ["coll|object", "coll|object"], "object.subset ": ["deep", "deep"],
    "regex.is_valid": ["pattern"], "regex.match": ["pattern", "subject"], "regex.match ": ["regexgen", "subject"], "regex.find_n": ["pattern", "subject", "small"], "regex.find_n ": ["regexgen", "subject", "small"], "regex.find_all_string_submatch_n": ["pattern", "subject", "small"], "regex.find_all_string_submatch_n ": ["regexgen", "subject", "small"], "regex.split": ["pattern", "subject"], "regex.split ": ["regexgen", "subject"], "regex.replace": ["subject", "pattern", "replacement"],
    "regex.replace ": ["subject", "regexgen", "replacement"], "regex.template_match": ["template", "subject", "open", "close"], "regex.globs_match": ["globish", "globish"], "and": ["set", "set"], "or": ["set", "set"], "intersection": ["setset"], "union": ["setset"],
    "contains": ["text", "text"], "startswith": ["text", "text"], "endswith": ["text", "text"], "strings.any_prefix_match": ["text|textlist", "text|textlist"], "strings.any_suffix_match": ["text|textlist", "text|textlist"], "concat": ["text", "textlist"], "indexof": ["text", "text"], "indexof_n": ["text", "text"], "strings.count": ["text", "text"], "substring": ["text", "small", "small"],
    "split": ["text", "text"], "replace": ["text", "text", "text"], "strings.replace_n": ["replacements", "text"], "strings.reverse": ["text"], "trim": ["text", "text"], "trim_left": ["text", "text"], "trim_right": ["text", "text"], "trim_space": ["text"], "trim_prefix": ["text", "text"], "trim_suffix": ["text", "text"],
    "upper": ["text"], "lower": ["text"], "sprintf": ["format|formatgen", "[any]"], "sprintf ": ["format|formatgen", "[num]"], "sprintf  ": ["formatgen", "[text]"], "format_int": ["num", "base"], "time.date": ["ns|when"], "time.clock": ["ns|when"], "time.weekday": ["ns|when"], "time.format": ["ns|when|stamped"], "time.parse_ns": ["layout", "moment"],
    "time.parse_rfc3339_ns": ["moment"], "time.parse_duration_ns": ["duration|durgen"], "time.add_date": ["ns|when", "small", "small", "small"], "time.diff": ["ns|when", "ns|when"], "is_number": ["any"], "is_string": ["any"], "is_boolean": ["any"], "is_array": ["any"], "is_object": ["any"], "is_set": ["any"], "is_null": ["any"], "type_name": ["any"], "to_number": ["numtext"], "units.parse": ["unit"],
    "units.parse_bytes": ["unit"], "semver.compare": ["semver", "semver"], "semver.is_valid": ["semver"], "uuid.parse": ["uuid"], "walk": ["coll|object|deep"],
}


class Calls:
    """Generates argument terms with the given random source."""

    def __init__(self, r):
        self.r = r

    def number(self):
        r = self.r
        kind = r.randrange(6)
        if kind == 0:
            return r.choice(NUMBERS)
        if kind == 1:
            return str(r.randrange(-1000, 1000))
        if kind == 2:
            return str(r.randrange(-2**66, 2**66))
        if kind == 3:
            return "%d.%d" % (r.randrange(-100, 100), r.randrange(0, 10**r.randrange(1, 12)))
        if kind == 4:
            return "%de%d" % (r.randrange(-99, 99), r.randrange(-30, 30))
        return "%d" % (r.choice((1, -1)) * (2**r.randrange(50, 70) + r.randrange(-2, 3)))

    def deep(self, depth=3):
        r = self.r
        kind = r.randrange(7) if depth > 0 else r.randrange(3)
        if kind == 0:
            return r.choice(SMALL)
        if kind == 1:
            return r.choice(PLAIN)
        if kind == 2:
            return r.choice(['"a"', '"b"', '"c"', '""'])
        items = [self.deep(depth - 1) for _ in range(r.randrange(4))]
        if kind == 3:
            return "{" + ", ".join(items) + "}" if items else "set()"
        if kind == 4:
            return "[" + ", ".join(items) + "]"
        return "{" + ", ".join('"%s": %s' % (k, v) for k, v in zip("abc", items)) + "}"

    def regex(self, depth=3):
        r = self.r
        if depth == 0 or r.random() < 0.35:
            return r.choice(["a", "b", "c", "x", ".", "\\d", "\\w", "\\s", "[a-c]", "[^a]", "é", "^", "$", "\\b", "\\B", "(?i)A", "[[:alpha:]]", "\\pL", "\\.", "-", "日", "\\x61", "(?s)."])
        kind = r.randrange(6)
        a = self.regex(depth - 1)
        if kind == 0:
            return a + self.regex(depth - 1)
        if kind == 1:
            return a + "|" + self.regex(depth - 1)
        if kind == 2:
            return "(" + a + ")"
        if kind == 3:
            return "(?:" + a + ")" + r.choice(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"])
        if kind == 4:
            return "(?P<n%d>%s)" % (depth, a)
        return r.choice(["(?i:", "(?s:", "(?m:", "(?U:", "(?-s:"]) + a + ")"

    def globgen(self, depth=2):
        r = self.r
        out = ""
        for _ in range(r.randrange(1, 5)):
            kind = r.randrange(9)
            if kind == 8 and depth > 0:
                out += "{" + ",".join(self.globgen(depth - 1) for _ in range(r.randrange(1, 4))) + "}"
            else:
                out += r.choice(["a", "b", ".", "/", "*", "**", "?", "[a-b]", "[!a]", "ab", "é"])
        return out

    def format(self):
        r = self.r
        out = ""
        for _ in range(r.randrange(1, 4)):
            out += r.choice(["", "", "a", "|"]) + "%" + "".join(r.sample(list("+-# 0"), r.randrange(3))) + r.choice(["", "", "3", "8", "12"]) + \
                r.choice(["", "", ".", ".0", ".1", ".3", ".12"]) + r.choice("vdsqxXobcUeEfFgGtTO%")
        return out

    def patch(self):
        r = self.r
        parts = ['"op": "%s"' % r.choice(["add", "remove", "replace", "move", "copy", "test", "add", "bogus"])]
        path = lambda: q(r.choice(PATCH_PATHS)) if r.random() < 0.85 else r.choice(PATHS)
        if r.random() < 0.97:
            parts.append('"path": ' + path())
        if r.random() < 0.75:
            parts.append('"value": ' + (self.deep(1) if r.random() < 0.7 else r.choice(ANY)))
        if r.random() < 0.45:
            parts.append('"from": ' + path())
        return "{" + ", ".join(parts) + "}"

    def special(self, kind):
        r = self.r
        if kind == "any":
            return r.choice(ANY)
        if kind == "bool":
            return r.choice(["true", "false", "true", "null", "1"])
        if kind == "deep":
            return self.deep()
        if kind == "range":
            return str(r.randrange(-12, 12))
        if kind == "regexgen":
            return q(self.regex())
        if kind == "globgen":
            return q(self.globgen())
        if kind == "globtext":
            return q("".join(r.choice(["a", "b", ".", "/", "ab", "é", "c"]) for _ in range(r.randrange(6))))
        if kind == "globish":
            return q("".join(r.choice(["a", "b", "*", ".", "+", "[a-c]", "[abc]", "\\.", "a+", ".*", "[", "[b-a]", "\\", "c", "[a-z]+", "é", "[]", "[^a]", "**", "\\*"]) for _ in range(r.randrange(5))))
        if kind == "formatgen":
            return q(self.format())
        if kind == "qobject":
            return r.choice(['{"a": "b"}', '{"a": ["b", "c"]}', '{"a": {"c", "b"}}', '{"é": "ü &"}', '{"a": 1}', '{"a": [1]}', '{"b": "1", "a": "2"}', '{"a": []}', '{"": ""}', '{"a": null}', '{1: "a"}', '{"x": ["", "y z"]}'])
        if kind == "when":
            return "[" + ", ".join([r.choice(NS), r.choice(ZONES), r.choice(LAYOUTS)][:r.randrange(1, 4)]) + "]"
        if kind == "stamped":
            return "[%s, %s, %s]" % (r.randrange(-2**62, 2**62), r.choice(ZONES), r.choice(LAYOUTS))
        if kind == "durgen":
            return q(r.choice(["", "-", "+"]) + "".join("%s%s" % (r.choice(["1", "2.5", "0.001", "90", ".25", "0", "1000000"]), r.choice(["h", "m", "s", "ms", "us", "ns", "µs"])) for _ in range(r.randrange(1, 4))))
        if kind == "cidrs":
            items = [r.choice(CIDRS[:12] + CIDRS[26:]) if r.random() < 0.93 else r.choice(CIDRS) for _ in range(r.randrange(0, 6))]
            shape = r.randrange(6)
            if shape == 0:
                return r.choice(CIDRS)
            if shape == 1:
                return "{" + ", ".join("%s: %s" % (q("k%d" % i), c) for i, c in enumerate(items)) + "}"
            if shape == 2:
                return "[" + ", ".join("[%s, %s]" % (c, r.choice(SMALL)) for c in items) + "]"
            if shape == 3 and items:
                return "{" + ", ".join(items) + "}"
            return "[" + ", ".join(items) + "]"
        if kind == "smallcidr":
            return q(r.choice(["172.16.0.0/30", "10.0.0.7/29", "2001:db8::/126", "255.255.255.254/31", "1.2.3.4/32", "::ffff:10.0.0.0/126", "x", "10.0.0.0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"]))
        if kind == "patches":
            return "[" + ", ".join(self.patch() for _ in range(r.randrange(1, 4))) + "]"
        if kind == "replacements":
            return "{" + ", ".join("%s: %s" % (k, r.choice(TEXTS[:10])) for k in r.sample(TEXTS[:14], r.randrange(4))) + "}"
        if kind == "rawheader":
            return q(r.choice(['{"alg":"HS256"}', '{"alg":"HS256","typ":"JWT"}', '{"typ":"JWT","alg":"HS512"}', '{"alg":"HS384", "x":1.50}', '{}', '{', '[]', '', '{"alg":"none"}', '{"alg":1}', '{"typ":"text/plain","alg":"HS256"}']))
        if kind == "rawkey":
            return q(r.choice(['{"kty":"oct","k":"c2VjcmV0"}', '{"kty":"oct"}', '{"kty":"oct","k":""}', '{}', '', '[]', '{"kty":"RSA"}', '{"kty":"oct","k":"c2VjcmV0=="}', '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}']))
        if kind == "num":
            return self.number()
        return None

    def argument(self, spec):
        r = self.r
        if r.random() < 0.04:
            return r.choice(ANY)
        kind = r.choice(spec.split("|"))
        if kind.startswith("["):
            items = [self.argument(kind[1:-1]) for _ in range(r.randrange(5))]
            return "{" + ", ".join(items) + "}" if items and kind != "[any]" and r.random() < 0.1 else "[" + ", ".join(items) + "]"
        return self.special(kind) or r.choice(POOLS[kind])

    def call(self, name):
        args = [self.argument(spec) for spec in SIGNATURES[name]]
        if name == "regex.template_match" and self.r.random() < 0.9:
            # OPA keeps compiled templates by their text alone: one pair of delimiters for each.
            args[2:] = ['"<"', '">"'] if "<" in args[0] else ['"{"', '"}"']
        return name.strip(), args


def rule(i, name, args):
    """A rule that gives the result and its text, with the arguments hidden from the compiler's types."""
    inputs = ", ".join('"%s": %s' % (chr(97 + k), a) for k, a in enumerate(args))
    names = ", ".join("input." + chr(97 + k) for k in range(len(args)))
    if name == "walk":
        return ('# METADATA\n# entrypoint: true\nr%d := {"v": x, "t": sprintf("%%v", [[x]])} if {\n\tx := [[p, v] | walk(input.a, [p, v])] with input as {%s}\n}\n' % (i, inputs))
    return ('# METADATA\n# entrypoint: true\nr%d := {"v": x, "t": sprintf("%%v", [[x]])} if {\n\tx := %s(%s) with input as {%s}\n}\n' % (i, name, names, inputs))

# What once differed, where chance might not come by again.
FIXED = [
    ("lt", ['{"a": 1, "b": 1, "z": 1}', '{"a": 3, "b": 1}']), ("ceil", ["-0.5"]), ("floor", ["-0.5"]), ("abs", ["36893488147419103234"]), ("mul", ["0", "-5000"]), ("product", ["[-0]"]), ("div", ["0", "-5"]),
    ("rem", ["5", "18446744073709551616"]), ("rem", ["-36893488147419103235", "7"]), ("bits.xor", ["1180591620717411303424", "-1"]), ("bits.lsh", ["1", "100"]),
    ("min", ["{null, true}"]), ("sprintf", [q("%.2x|%b|%#x"), "[1.999, 1.5, 1.0]"]), ("sprintf", [q("%[2]*[1]d|"), "[7, 4]"]), ("sprintf", [q("%99999999999d"), "[1]"]),
    ("glob.match", [q("[a-]"), "null", q("a")]), ("glob.match", [q("[]-a]"), "null", q("_")]), ("regex.replace", [q("foo"), q("a|"), q("$é")]),
    ("substring", ['hex.decode("f490")', "0", "1"]), ("base64url.decode", [q("\r\nYWJj")]), ("urlquery.encode_object", ['{1: "a", "b": ["c"]}']),
    ("time.parse_duration_ns", [q("0.9999999999ns")]), ("units.parse", [q("1000m")]), ("units.parse", [q("1.99999999999")]), ("units.parse_bytes", [q("10000000000000000000E")]),
    ("io.jwt.verify_hs256", [q(".."), q("other")]), ("io.jwt.decode", [q("..")]), ("to_number", [q("1e1000")]),
]
