"""Grade submissions: programs of strangers, run in a sandbox and judged outside it.

In reading order: `submission` reads a file, `sandbox` runs it, `inside` is the program that runs there, `grade` makes
the result; `collect` finds the files, `batch` grades them; `tables`, `pages` and `gradebook` write the results, with
text made safe by `letters`; `command` is the whole command.
"""
