"""The multipliers of one column."""


def reference(inputs, launch):
    column, matrix = inputs["column"], inputs["matrix"]
    out = inputs["multipliers"].copy()
    out[column + 1 :, column] = matrix[column + 1 :, column] / matrix[column, column]
    return {"multipliers": out}
