"""The lessons that test_lessons_browser.py leaves, in a file of their own: one process runs a file."""

import pytest

from tests.browser.test_lessons_browser import NAMES, RUN_ONE_IN, run_and_present
from tests.plugins.tiers import is_row_in_share


@pytest.mark.parametrize("name", NAMES[::2])
def test_a_lesson_is_run_and_shown_page_by_page_or_shown_at_its_first_and_last_page(lab, name, request):
    run_and_present(lab, name, is_row_in_share(name, RUN_ONE_IN, request.config.option.share))
