#compdef dlscale
# Completion of dlscale for zsh: install this file as _dlscale in a folder of $fpath, or source it after compinit.
# The program itself says what may follow (dlscale __complete), from the tree of its verbs and options.

_dlscale() {
    local program=${~${(Q)words[1]}} line="${(j: :)words[1,CURRENT-1]} $PREFIX" answer word
    local -a described open
    local files=0 folders=0
    while IFS= read -r answer; do
        case $answer in
            :files) files=1 ;;
            :folders) folders=1 ;;
            *)
                # _describe parts a word from its meaning at the first colon.
                word=${${answer%%$'\t'*}//:/\\:}
                [[ $answer == *$'\t'* ]] && word+=":${answer#*$'\t'}"
                if [[ ${answer%%$'\t'*} == *= ]]; then open+=("$word"); else described+=("$word"); fi
                ;;
        esac
    done < <($program __complete zsh "$line" 2>/dev/null)
    local found=1
    (( ${#described} )) && _describe dlscale described && found=0
    (( ${#open} )) && _describe dlscale open -S '' && found=0
    # The value behind "--option=".
    if (( files || folders )); then
        [[ $PREFIX == --*=* ]] && compset -P '--*='
        if (( folders )); then _files -/ && found=0; else _files && found=0; fi
    fi
    return found
}

if [[ ${funcstack[1]-} == _dlscale ]]; then _dlscale "$@"; else compdef _dlscale dlscale; fi
