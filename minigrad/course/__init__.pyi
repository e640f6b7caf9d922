from .alice import one_thread as one_thread
from .feedback import check as check, score as score, solution as solution
from .gates import Gates as Gates
from .plots import follow_theme as follow_theme
from .prediction import reveal as reveal, reveal_range as reveal_range
from .recorded import in_jax as in_jax, in_pytorch as in_pytorch, in_tensorflow as in_tensorflow
from .standing import dashboard as dashboard
from .stopwatch import Rounds as Rounds, in_turns as in_turns
from .widgets import Guess as Guess, Predict as Predict, Quiz as Quiz

class CourseError(Exception): ...
class CommandInterrupt(CourseError): ...
