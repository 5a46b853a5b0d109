"""The ids that mean the same in every vocabulary. Padding has an id of its own: it is never also a token."""

PAD_ID = 0  # fills up a batch
BOS_ID = 1  # the decoder's first input
EOS_ID = 2  # ends every sequence
UNK_ID = 3  # a character that the vocabulary does not hold
