# Completion of dlscale for fish: source this file, or install it as share/fish/vendor_completions.d/dlscale.fish.
# The program itself says what may follow (dlscale __complete), from the tree of its verbs and options.

function __dlscale_complete
    set -l program (commandline -opc)[1]
    set -l typed (commandline -ct)
    for answer in ($program __complete fish (commandline -cp) 2>/dev/null)
        switch $answer
            case :files
                __fish_complete_path $typed
            case :folders
                __fish_complete_directories $typed
            case '*'
                echo $answer
        end
    end
end

complete -c dlscale -f -a '(__dlscale_complete)'
