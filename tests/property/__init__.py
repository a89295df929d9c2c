"""Properties: whatever is done, in whatever order."""

import pytest

pytest.register_assert_rewrite("tests.property.machine", "tests.property.promises")
