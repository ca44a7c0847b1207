"""Secrets: which values are secret, how a text hides them, and where a configuration must not hold one.

    names      names of variables, fields and headers that announce a secret; the shapes of providers' keys
    forms      the encodings in which a secret may appear in a text
    known      the secrets in the environment of this process
    mask       the one mask for messages, answers and files
    output     logs, warnings and tracebacks of a command
    given      secrets that somebody wrote into a configuration or a command

`docs/secrets.md` lists what is masked, what is refused and what is not promised.
"""
