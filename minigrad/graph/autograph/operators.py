"""What generated code calls, as `ag.NAME`: each looks at the values it gets, and lets Python or the graph decide."""

from .branches import and_ as and_
from .branches import assert_ as assert_
from .branches import compare as compare
from .branches import filter_ as filter_
from .branches import if_ as if_
from .branches import if_expression as if_expression
from .branches import not_ as not_
from .branches import or_ as or_
from .fork import handled as handled
from .loops import for_ as for_
from .loops import while_ as while_
from .state import NotReturned as NotReturned
from .state import Undefined as Undefined
from .state import defined as defined
