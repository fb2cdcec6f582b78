# What every test needs.

# assert_equal EXPECTED ACTUAL: ends the test unless both are the same.
assert_equal() {
    if [ "$1" != "$2" ]; then
        printf 'expected: %s\n but got: %s\n' "$1" "$2"
        exit 1
    fi
}
