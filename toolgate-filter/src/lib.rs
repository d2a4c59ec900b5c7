//! Cleans what tools return: secrets, personal data, invisible characters, injected instructions, and the fence.
