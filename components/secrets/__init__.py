"""Secrets: recognizing them, masking them in text, and rejecting them in configurations.

    names      names of variables, fields and headers that indicate a secret; the formats of providers' keys
    forms      the encodings in which a secret may appear in text
    escapes    secrets whose characters are escaped, in any mixture
    known      the secrets in the environment of this process
    mask       the mask for messages, answers and files
    output     logs, warnings and tracebacks of a command
    given      secrets written into a configuration or a command

`docs/secrets.md` lists what is masked, what is rejected and what is not guaranteed.
"""
