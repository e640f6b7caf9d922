"""Grading of what others have handed in: programs of strangers, run where they can do no harm, judged elsewhere.

In the order of reading: `submission` reads a file, `sandbox` is where it runs, `inside` is what runs there, `grade` is
the verdict; `collect` finds many, `batch` grades them; `tables`, `pages` and `gradebook` tell, in `letters` that are
letters and no more; `command` is all of it.
"""
