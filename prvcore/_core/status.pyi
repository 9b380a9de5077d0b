VERSION: str
STATUS_COUNT: int

def exception_of(status: int) -> BaseException: ...
