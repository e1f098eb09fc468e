def checks(bench):
    return []
