from .adapter import ModelAdapter as ModelAdapter
from .adapter import adapter_of as adapter_of
from .adapter import as_predictor as as_predictor
from .libraries import LIBRARIES as LIBRARIES
from .libraries import ModelFile as ModelFile
from .libraries import ModelLibrary as ModelLibrary
from .predictor import BoundPredictor as BoundPredictor
from .predictor import Predictor as Predictor
