. tests/assert.sh
. lib/case.sh

assert_equal "HELLO, WORLD" "$(upper "Hello, world")"
assert_equal "hello, world" "$(lower "Hello, World")"
assert_equal "" "$(upper "")"
