# Changes the case of text.

# upper TEXT: prints TEXT in capital letters.
upper() {
    printf '%s\n' "$1" | tr '[:lower:]' '[:upper:]'
}

# lower TEXT: prints TEXT in small letters.
lower() {
    printf '%s\n' "$1" | tr '[:upper:]' '[:lower:]'
}
