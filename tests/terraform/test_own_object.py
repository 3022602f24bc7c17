"""A download of an object of the user's own: what Terraform plans around it, and what it leaves alone."""


def test_one_object_is_read_and_its_bucket_is_left_alone(infra, mocking):
    result = mocking(infra, "test", "-filter=tests/own_object.tftest.hcl")
    assert result.returncode == 0, result.stdout
