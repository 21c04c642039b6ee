# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.recurrent import GRU as GRU
from weft.nn.recurrent import GRUCell as GRUCell
from weft.nn.recurrent import LSTM as LSTM
from weft.nn.recurrent import LSTMCell as LSTMCell
from weft.nn.recurrent import Module as Module
from weft.nn.recurrent import Parameter as Parameter
from weft.nn.recurrent import RNN as RNN
from weft.nn.recurrent import RNNBase as RNNBase
from weft.nn.recurrent import RNNCell as RNNCell
from weft.nn.recurrent import RNNCellBase as RNNCellBase
from weft.nn.recurrent import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.recurrent import Tensor as Tensor
from weft.nn.recurrent import _GATES as _GATES
from weft.nn.recurrent import _need_type as _need_type
from weft.nn.recurrent import cell as cell
from weft.nn.recurrent import init as init
from weft.nn.recurrent import plain_recurrent as plain_recurrent
from weft.nn.recurrent import weft as weft
