"""What drives predictions: contributions of columns, effects, importance, each with its interval.

A model's prediction is an average over networks. Each question here is asked of every network, so
each answer comes with its spread over the posterior. All work on columns of the raw table: a column
that is several inputs of the network is one.
"""
