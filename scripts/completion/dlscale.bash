# Completion of dlscale for bash: source this file, or install it as share/bash-completion/completions/dlscale.
# The program itself says what may follow (dlscale __complete), from the tree of its verbs and options.

_dlscale() {
    local program=${1/#\~\//$HOME/} typed=${COMP_WORDS[COMP_CWORD]} answer
    COMPREPLY=()
    [[ $typed == = ]] && typed=  # behind "--option=" nothing is typed yet
    while IFS= read -r answer; do
        case $answer in
            :files) compopt -o filenames 2>/dev/null
                    while IFS= read -r answer; do COMPREPLY+=("$answer"); done < <(compgen -f -- "$typed") ;;
            :folders) compopt -o filenames 2>/dev/null
                      while IFS= read -r answer; do COMPREPLY+=("$answer"); done < <(compgen -d -- "$typed") ;;
            *=) compopt -o nospace 2>/dev/null
                COMPREPLY+=("$answer") ;;
            *) COMPREPLY+=("$answer") ;;
        esac
    done < <("$program" __complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
}

complete -F _dlscale dlscale
