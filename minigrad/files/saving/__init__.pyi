from .files import load as load, save as save
from .functions import SavedFunction as SavedFunction, Signature as Signature
